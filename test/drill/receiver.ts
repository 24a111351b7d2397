/**
 * The endpoint of one destination. It accepts requests or misbehaves as configured, and keeps a ledger of its
 * responses.
 *
 *   manner                       does
 *   status                       responds with this status, with headers, after a delay
 *   silent                       takes the request and never responds
 *   down                         does not listen on its port
 *   self-signed                  shows a self-signed certificate (only with TLS)
 */

import { setTimeout as timer } from "node:timers/promises";

import { type Certificate, issue } from "../support/build/certificates.ts";
import { type Answer, type Receiver as Server, startReceiver } from "../support/kit/receiver.ts";

export type Manner =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly afterMs?: number;
    }
  | { readonly kind: "silent" }
  | { readonly kind: "down" }
  | { readonly kind: "self-signed" };

/** How long to wait for the last bytes of responses to arrive before their connections are closed. */
const ARRIVAL_MS = 100;

const ACCEPTED = 200;
export const ACCEPTS: Manner = { kind: "status", status: ACCEPTED };

export interface Responded {
  readonly atMs: number;
  /** Null if the request arrived, but never got a response. */
  readonly status: number | null;
}

export class Receiver implements AsyncDisposable {
  readonly #certificate: Certificate | null;
  readonly #responses: Responded[] = [];
  readonly #accepted = new Set<string>();
  readonly #underWay = new Set<Promise<Answer>>();
  #port = 0;
  #server: Server | null = null;
  #manner: Manner = ACCEPTS;

  /** @param ca signs the receiver's certificate; null for plain HTTP. */
  constructor(ca: Certificate | null) {
    this.#certificate =
      ca === null ? null : issue({ name: "receiver", hosts: ["127.0.0.1"], by: ca });
  }

  async start(): Promise<void> {
    const isBad = this.#manner.kind === "self-signed";
    const bad = isBad ? issue({ name: "receiver", hosts: ["127.0.0.1"] }) : null;
    const tls = bad ?? this.#certificate ?? undefined;
    this.#server = await startReceiver(({ id }) => this.#take(id), tls, this.#port);
    this.#port = this.#server.port;
  }

  get url(): string {
    return `${this.#certificate === null ? "http" : "https"}://127.0.0.1:${this.#port}/hook`;
  }

  /** The responses, the oldest first. */
  get responses(): readonly Responded[] {
    return this.#responses;
  }

  /** Message IDs of the calls to which it has responded 200. */
  get accepted(): ReadonlySet<string> {
    return this.#accepted;
  }

  async behave(manner: Manner): Promise<void> {
    this.#manner = manner;
    // A response in the ledger that did not arrive would make the truth wrong.
    await Promise.all(this.#underWay);
    await timer(ARRIVAL_MS);
    // Open connections are closed, because they would keep the old behavior: requests without a response, and accepted
    // certificates.
    await this[Symbol.asyncDispose]();
    if (manner.kind !== "down") await this.start();
  }

  #take(messageId: string): Promise<Answer> {
    const responding = this.#respond(messageId).finally(() => this.#underWay.delete(responding));
    this.#underWay.add(responding);
    return responding;
  }

  async #respond(messageId: string): Promise<Answer> {
    const manner = this.#manner;
    if (manner.kind !== "status") {
      this.#responses.push({ atMs: Date.now(), status: null });
      return "silence";
    }
    await timer(manner.afterMs ?? 0);
    this.#responses.push({ atMs: Date.now(), status: manner.status });
    if (manner.status === ACCEPTED) this.#accepted.add(messageId);
    return { status: manner.status, ...(manner.headers && { headers: manner.headers }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = null;
  }
}

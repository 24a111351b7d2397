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

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as timer } from "node:timers/promises";

import { type Certificate, issue } from "../support/build/certificates.ts";

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
  readonly #server: Server | TlsServer;
  readonly #certificate: Certificate | null;
  readonly #responses: Responded[] = [];
  readonly #accepted = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  #port = 0;
  #manner: Manner = ACCEPTS;

  /** @param ca signs the receiver's certificate; null for plain HTTP. */
  constructor(ca: Certificate | null) {
    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      const messageId = `${request.headers["x-switchyard-message-id"]}`;
      request.resume().once("end", () => this.#take(response, messageId));
    };
    this.#certificate =
      ca === null ? null : issue({ name: "receiver", hosts: ["127.0.0.1"], by: ca });
    this.#server =
      this.#certificate === null
        ? createServer(onRequest)
        : createTlsServer({ cert: this.#certificate.cert, key: this.#certificate.key }, onRequest);
    // Errors are ignored, because failed handshakes belong to some problems.
    this.#server.on("tlsClientError", () => undefined);
  }

  async start(): Promise<void> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
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
    const before = this.#manner;
    this.#manner = manner;
    // A response in the ledger that did not arrive would make the truth wrong.
    await Promise.all(this.#underWay);
    await timer(ARRIVAL_MS);
    if ("setSecureContext" in this.#server && this.#certificate !== null) {
      const isBad = manner.kind === "self-signed";
      const { cert, key } = isBad
        ? issue({ name: "receiver", hosts: ["127.0.0.1"] })
        : this.#certificate;
      this.#server.setSecureContext({ cert, key });
    }
    if (manner.kind === "down") await this.#close();
    else if (before.kind === "down") await this.start();
    // Open connections are closed, because they would keep the old behavior: requests without a response, and accepted
    // certificates.
    else this.#server.closeAllConnections();
  }

  #take(response: ServerResponse, messageId: string): void {
    const responding = this.#respond(response, messageId).finally(() =>
      this.#underWay.delete(responding),
    );
    this.#underWay.add(responding);
  }

  async #respond(response: ServerResponse, messageId: string): Promise<void> {
    const manner = this.#manner;
    if (manner.kind !== "status") {
      this.#responses.push({ atMs: Date.now(), status: null });
      return;
    }
    await timer(manner.afterMs ?? 0);
    this.#responses.push({ atMs: Date.now(), status: manner.status });
    if (manner.status === ACCEPTED) this.#accepted.add(messageId);
    response.writeHead(manner.status, manner.headers).end();
  }

  async #close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** The endpoints of all destinations: records for each call which process sent it, when, and the response. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Taken {
  readonly id: string;
  readonly user: string;
  readonly status: number;
  /** The process that sent the request, from a header in the process's own configuration. */
  readonly by: string;
  readonly atMs: number;
}

/** Each process adds this header, which is in its configuration. */
export const SENT_BY = "x-sent-by";

export class ControlledReceiver implements AsyncDisposable {
  /** Destinations that get the response 503. */
  readonly refusing = new Set<string>();
  readonly #taken = new Map<string, Taken[]>();
  readonly #server = createServer((request, response) => {
    const destination = (request.url ?? "").slice(1);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { userId: user } = JSON.parse(Buffer.concat(chunks).toString()) as { userId: string };
      const id = `${request.headers["x-switchyard-message-id"]}`;
      const status = this.refusing.has(destination) ? 503 : 200;
      const by = `${request.headers[SENT_BY]}`;
      const own = this.#taken.get(destination) ?? [];
      this.#taken.set(destination, own);
      own.push({ id, user, status, by, atMs: Date.now() });
      response.writeHead(status, { "content-length": 0 }).end();
    });
  });

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get isListening(): boolean {
    return this.#server.listening;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Returns all requests of a destination, in order of arrival. */
  all(destination: string): readonly Taken[] {
    return this.#taken.get(destination) ?? [];
  }

  accepted(destination: string): readonly Taken[] {
    return this.all(destination).filter(({ status }) => status === 200);
  }

  refused(destination: string): readonly Taken[] {
    return this.all(destination).filter(({ status }) => status !== 200);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

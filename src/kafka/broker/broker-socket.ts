/**
 * A socket to a broker. It writes requests, and gives each response to its request: a broker responds in the order of the
 * requests.
 *
 *   it ends with                                    all requests fail with
 *   a socket that cannot connect, or is lost        ConnectionClosedError, with the socket's error as its cause
 *   no connection within 5 seconds                  the same
 *   a response whose length is impossible, or       ConnectionClosedError
 *   that belongs to another request
 *   `end`                                           the caller's error
 */

import net from "node:net";
import tls from "node:tls";

import { BoundedReader } from "./bounded-reader.ts";
import { ConnectionClosedError } from "./errors.ts";
import { encodeHeader, Responses } from "./frames.ts";
import type { Request } from "./request.ts";

const CONNECT_LIMIT_MS = 5_000;
const KEEP_ALIVE_DELAY_MS = 60_000;
const CORRELATION_ID_MAX = 0x7fff_ffff;
const CORRELATION_BYTES = 4;

export interface BrokerSocketOptions {
  readonly clientId: string;
  readonly host: string;
  readonly port: number;
  /** Undefined for a connection without TLS. */
  readonly tls: tls.ConnectionOptions | undefined;
  /** Called once the socket has ended. */
  readonly onEnded: (error: Error) => void;
}

interface InFlight {
  readonly correlationId: number;
  readonly request: Request<unknown>;
  readonly version: number;
  readonly resolve: (response: never) => void;
  readonly reject: (error: unknown) => void;
}

export class BrokerSocket {
  readonly #options: BrokerSocketOptions;
  readonly #socket: net.Socket;
  readonly #responses = new Responses();
  /** In the order in which they were sent. */
  readonly #inFlight: InFlight[] = [];
  #correlationId = 0;
  /** Set by `end`, once. */
  #ended: Error | null = null;

  /** Starts to connect. @throws Error if the port or a certificate cannot be used. */
  constructor(options: BrokerSocketOptions) {
    this.#options = options;
    const { host, port, tls: secure } = options;
    this.#socket = secure ? tls.connect({ ...secure, host, port }) : net.connect({ host, port });
    let cause: Error | null = null;
    this.#socket
      .once("connect", () => {
        this.#socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
      })
      .on("data", (bytes) => this.#read(bytes))
      .on("error", (error) => {
        cause ??= error;
      })
      .once("close", () => {
        const text = cause === null ? "" : `: ${cause.message}`;
        this.end(new ConnectionClosedError(`Closed connection${text}`, { cause }));
      });
  }

  /** Resolves when the socket is connected, with TLS if so configured. @throws the socket's error */
  connected(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const late = setTimeout(() => this.#socket.destroy(new Error("no response")), CONNECT_LIMIT_MS);
    this.#socket
      .once(this.#options.tls ? "secureConnect" : "connect", resolve)
      .once("error", reject)
      .once("close", () => reject(this.#ended));
    return promise.finally(() => clearTimeout(late));
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** Collects the writes of this turn of the event loop. */
  cork(): void {
    if (this.#socket.writableCorked > 0) return;
    this.#socket.cork();
    setImmediate(() => this.#socket.uncork());
  }

  /** Rejects if the request cannot be encoded, its response cannot be read, or the socket ends. */
  send<Result>(request: Request<Result>, version: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) throw this.#ended;
      const body = request.encode(version);
      this.#correlationId = (this.#correlationId + 1) & CORRELATION_ID_MAX;
      const correlationId = this.#correlationId;
      this.#inFlight.push({ correlationId, request, version, resolve, reject });
      const { apiKey } = request.kind;
      const { clientId } = this.#options;
      const isFlexible = request.isFlexible(version);
      const header = { apiKey, version, correlationId, clientId, isFlexible };
      // One system call, without a copy of the records.
      this.#socket.cork();
      this.#socket.write(encodeHeader(header, body.length));
      this.#socket.write(body);
      this.#socket.uncork();
    });
  }

  /** Closes the socket; requests in flight fail. */
  end(error: Error): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#socket.destroy();
    this.#options.onEnded(error);
    for (const { reject } of this.#inFlight.splice(0)) reject(error);
  }

  #read(bytes: Buffer): void {
    this.#responses.add(bytes);
    try {
      for (let next = this.#responses.next(); next !== null; next = this.#responses.next())
        this.#receive(next);
    } catch (error) {
      this.end(new ConnectionClosedError(`closed connection: ${(error as Error).message}`));
    }
  }

  /** @throws RangeError if it is not the response to the oldest request. */
  #receive(frame: Buffer): void {
    const correlationId = frame.readInt32BE();
    const sent = this.#inFlight[0];
    if (sent?.correlationId !== correlationId)
      throw new RangeError(`the broker sent a response to another request, ${correlationId}`);
    this.#inFlight.shift();
    const { request, version, resolve, reject } = sent;
    try {
      const reader = BoundedReader.of(frame).skip(CORRELATION_BYTES);
      if (request.isFlexible(version)) reader.readTaggedFields();
      resolve(request.read(reader, version) as never);
    } catch (error) {
      reject(error);
    }
  }
}

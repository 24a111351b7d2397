/**
 * A connection to a broker, which many callers share. The connection is opened for the first request, and again for
 * the first request after it broke or was closed; concurrent callers wait for the same attempt.
 */

import type { BrokerAddress } from "./address.ts";
import { ConnectionClosedError } from "./errors.ts";
import type { OpenConnection } from "./open-connection.ts";
import type { Request } from "./request.ts";
import type { BrokerVersions } from "./request-version.ts";

export interface Broker {
  /** The request versions that the broker accepts on the latest connection; none before the first. */
  readonly versions: BrokerVersions;
  /** Sends the request in the highest version that the broker accepts. @throws NoCommonVersionError */
  send<Result>(request: Request<Result>): Promise<Result>;
}

export interface BrokerConnectionOptions {
  /**
   * `true` to send all requests of one turn of the event loop with one write. With `false`, each request costs a system
   * call of its own, and so does each response.
   */
  readonly isGathered: boolean;
  /**
   * Sends a request on another connection; called for the requests that wait here when the broker starts to throttle.
   */
  readonly elsewhere?: <Result>(request: Request<Result>) => Promise<Result>;
}

/** Creates a connection to an address, without opening it. By default, requests are not gathered. */
export type CreateBroker = (
  address: BrokerAddress,
  options?: BrokerConnectionOptions,
) => BrokerConnection;

type Again = () => void;

export class BrokerConnection implements Broker {
  readonly #create: () => OpenConnection;
  readonly #isGathered: boolean;
  readonly #elsewhere: BrokerConnectionOptions["elsewhere"];
  /** `true` if no connection is opened any more, and this one is closed after its last request. */
  #isLeft = false;
  /** The latest connection, which may still be opening. */
  #connection: OpenConnection | null = null;
  #opening: Promise<OpenConnection> | null = null;
  #inFlight = 0;
  #usedAtMs = performance.now();
  /** Sends again the repeatable requests that wait for a response. */
  readonly #waiting = new Set<Again>();

  /** @param create creates a connection, which is opened here. Throws if the client is closed. */
  constructor(create: () => OpenConnection, { isGathered, elsewhere }: BrokerConnectionOptions) {
    this.#create = create;
    this.#isGathered = isGathered;
    this.#elsewhere = elsewhere;
  }

  get isOpen(): boolean {
    return this.#opening === null && this.#connection?.isOpen === true;
  }

  get versions(): BrokerVersions {
    return this.#connection?.versions ?? {};
  }

  /** Bytes read from the latest connection. */
  get bytesRead(): number {
    return this.#connection?.bytesRead ?? 0;
  }

  /** `true` if requests wait in this process because the broker has requested a pause. */
  get hasPending(): boolean {
    return this.#connection?.hasPending === true;
  }

  /** How long the broker will not read from the latest connection. */
  get throttledForMs(): number {
    return this.#connection?.throttledForMs ?? 0;
  }

  /** `true` if another request would have to wait because the broker throttles and reads one request at a time. */
  get wouldWait(): boolean {
    if (this.#connection?.isThrottled !== true) return false;
    return this.isInUse || this.throttledForMs > 0;
  }

  get isInUse(): boolean {
    return this.#inFlight > 0 || this.#opening !== null;
  }

  async open(): Promise<Broker> {
    await this.#opened();
    return this;
  }

  async send<Result>(request: Request<Result>): Promise<Result> {
    this.#inFlight += 1;
    const isRepeatable = request.isRepeatable === true && this.#elsewhere !== undefined;
    try {
      const connection = await this.#opened();
      if (this.#isGathered) connection.cork();
      return await (isRepeatable
        ? this.#sendOnceOrTwice(connection, request)
        : connection.send(request));
    } finally {
      this.#finish();
    }
  }

  /**
   * Sends a repeatable request also on another connection if the broker starts to throttle: such a broker may read only
   * one request per second.
   */
  #sendOnceOrTwice<Result>(connection: OpenConnection, request: Request<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const again = () =>
      void this.#elsewhere?.(request).then(resolve, () => {
        // The original request may still get its response, or fail with this connection.
      });
    this.#waiting.add(again);
    connection
      .send(request)
      .then(resolve, reject)
      .finally(() => this.#waiting.delete(again));
    return promise;
  }

  #finish(): void {
    this.#inFlight -= 1;
    if (this.#isLeft && this.#inFlight === 0) this.close();
    this.#usedAtMs = performance.now();
    if (this.#waiting.size === 0 || this.#connection?.isThrottled !== true) return;
    const stuck = [...this.#waiting];
    this.#waiting.clear();
    for (const again of stuck) again();
  }

  closeIfUnused(forMs: number): void {
    if (!this.isInUse && performance.now() - this.#usedAtMs >= forMs) this.close();
  }

  /** Ends the use of this object: later requests fail. Requests in flight still get their responses. */
  leave(): void {
    this.#isLeft = true;
    if (!this.isInUse) this.close();
  }

  /** Closes the connection; requests in flight fail. */
  close(error?: Error): void {
    this.#connection?.close(error);
    this.#connection = null;
    this.#opening = null;
  }

  #opened(): Promise<OpenConnection> {
    this.#usedAtMs = performance.now();
    if (this.#opening !== null) return this.#opening;
    const connection = this.#connection;
    if (connection?.isOpen === true) return Promise.resolve(connection);
    if (this.#isLeft) return Promise.reject(new ConnectionClosedError("Closed connection"));
    const opening = this.#connect().finally(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    this.#opening = opening;
    return opening;
  }

  async #connect(): Promise<OpenConnection> {
    const connection = this.#create();
    this.#connection = connection;
    return await connection.open();
  }
}

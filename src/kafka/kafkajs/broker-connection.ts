/**
 * One connection to a broker, which many callers share. The connection is opened for the first request, and again for
 * the first request after it broke or was closed; concurrent callers wait for the same attempt.
 */

import type { Socket } from "node:net";
import { frameBytes, frameRequest } from "../wire/frame-request.ts";
import type { Address } from "./address.ts";
import {
  type Broker,
  type Connection,
  type CreateBroker,
  cutOff,
  type Protocol,
  type Versions,
} from "./internals.ts";

/** A request whose encoding and reading are synchronous. May be sent twice if `isRepeatable`. */
export interface DirectRequest<Result> {
  readonly apiKey: number;
  readonly apiName: string;
  readonly apiVersion: number;
  readonly isRepeatable: boolean;
  /** Encodes the request, after this many free bytes. */
  encode(roomBytes: number): Buffer;
  /** Throws if the payload is not a valid response. */
  read(payload: Buffer): Result;
}

interface Waiting {
  readonly again: () => void;
}

interface BrokerConnectionOptions {
  /**
   * `true` to send all requests of one turn of the event loop with one write. With `false`, each request costs a system
   * call of its own, and so does each response.
   */
  readonly isGathered: boolean;
  /**
   * Sends a request on another connection; called for the requests that wait here when the broker starts to throttle.
   */
  readonly elsewhere?: <Result>(request: DirectRequest<Result>) => Promise<Result>;
}

export class BrokerConnection {
  readonly #isGathered: boolean;
  #isCorked = false;
  readonly #createBroker: CreateBroker;
  readonly #address: Address;
  #broker: Broker | null = null;
  #opening: Promise<Broker> | null = null;
  #inFlight = 0;
  #usedAtMs = performance.now();
  readonly #elsewhere: BrokerConnectionOptions["elsewhere"];
  /** Repeatable requests that wait for a response. */
  readonly #waiting = new Set<Waiting>();

  constructor(
    createBroker: CreateBroker,
    address: Address,
    { isGathered, elsewhere }: BrokerConnectionOptions,
  ) {
    this.#isGathered = isGathered;
    this.#elsewhere = elsewhere;
    this.#createBroker = createBroker;
    this.#address = address;
  }

  get isOpen(): boolean {
    return this.#opening === null && this.#broker !== null && isUp(this.#broker);
  }

  /** The request versions that the broker accepts on the latest connection. */
  get versions(): Versions | null {
    return this.#broker?.versions ?? null;
  }

  /** Bytes read from the latest connection. */
  get bytesRead(): number {
    return this.#connection?.socket?.bytesRead ?? 0;
  }

  /** `true` if requests wait in this process because the broker has requested a pause. */
  get hasPending(): boolean {
    return (this.#connection?.requestQueue.pending.length ?? 0) > 0;
  }

  /** How long the broker will not read from the latest connection. */
  get throttledForMs(): number {
    return Math.max(0, (this.#connection?.requestQueue.throttledUntil ?? 0) - Date.now());
  }

  /** `true` if another request would have to wait because the broker throttles and reads one request at a time. */
  get wouldWait(): boolean {
    if (this.#connection?.requestQueue.isThrottled !== true) return false;
    return this.isInUse || this.throttledForMs > 0;
  }

  get #connection(): Connection | undefined {
    return this.#broker?.connectionPool.pool[0];
  }

  get isInUse(): boolean {
    return this.#inFlight > 0 || this.#opening !== null;
  }

  async open(): Promise<Broker> {
    this.#usedAtMs = performance.now();
    if (this.#opening === null && this.#broker !== null && isUp(this.#broker)) return this.#broker;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return await this.#opening;
  }

  async send<Result>(protocol: Protocol): Promise<Result> {
    this.#inFlight += 1;
    try {
      const { connectionPool } = await this.open();
      const [connection] = connectionPool.pool;
      if (this.#isGathered) this.#cork(connection?.socket);
      return (await connection?.send(protocol)) as Result;
    } finally {
      this.#finish();
    }
  }

  /**
   * Like `send`, but creates only one promise, while kafkajs creates a dozen: a thousand members send several
   * hundred such requests a second.
   */
  sendDirect<Result>(request: DirectRequest<Result>): Promise<Result> {
    const connection = this.isOpen ? this.#connection : undefined;
    // `send` opens the connection, and lets kafkajs authenticate.
    if (connection === undefined || (connection.sasl != null && !connection.isAuthenticated()))
      return this.send(protocolOf(request));
    if (this.#isGathered) this.#cork(connection.socket);
    return this.#sendDirectNow(connection, request);
  }

  /** Adds the request to kafkajs' queue for the connection, which waits for the response and checks the timeout. */
  #sendDirectNow<Result>(connection: Connection, request: DirectRequest<Result>): Promise<Result> {
    const { clientId, requestQueue } = connection;
    const { apiKey, apiName, apiVersion } = request;
    const correlationId = connection.nextCorrelationId();
    const roomBytes = frameBytes(clientId);
    const header = { apiKey, apiVersion, correlationId, clientId };
    const framed = frameRequest(header, request.encode(roomBytes), roomBytes);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const waiting = this.#repeatable(request, resolve);
    const handlePayload = ({ payload }: { readonly payload: Buffer }): void => {
      this.#waiting.delete(waiting);
      this.#finish();
      try {
        resolve(request.read(payload));
      } catch (error) {
        reject(error);
      }
    };
    const failed = (error: Error): void => {
      this.#waiting.delete(waiting);
      this.#finish();
      reject(error);
    };
    this.#inFlight += 1;
    requestQueue.push({
      entry: { apiKey, apiName, apiVersion, correlationId, resolve: handlePayload, reject: failed },
      expectResponse: true,
      requestTimeout: null,
      sendRequest: () => connection.socket?.write(framed),
    });
    return promise;
  }

  /**
   * Keeps a repeatable request, so that it can be sent on another connection if the broker throttles: such a broker may
   * read only one request per second.
   */
  #repeatable<Result>(request: DirectRequest<Result>, resolve: (result: Result) => void): Waiting {
    const again = () =>
      void this.#elsewhere?.(request).then(resolve, () => {
        // The original request may still get its response, or fail with this connection.
      });
    const waiting = { again };
    if (request.isRepeatable && this.#elsewhere !== undefined) this.#waiting.add(waiting);
    return waiting;
  }

  #finish(): void {
    this.#inFlight -= 1;
    this.#usedAtMs = performance.now();
    if (this.#waiting.size === 0 || this.#connection?.requestQueue.isThrottled !== true) return;
    const stuck = [...this.#waiting];
    this.#waiting.clear();
    for (const { again } of stuck) again();
  }

  /** Collects the writes of this turn of the event loop; kafkajs writes the request before the turn ends. */
  #cork(socket: Socket | undefined): void {
    if (this.#isCorked || socket === undefined) return;
    this.#isCorked = true;
    socket.cork();
    setImmediate(() => {
      this.#isCorked = false;
      socket.uncork();
    });
  }

  closeIfUnused(forMs: number): void {
    if (!this.isInUse && performance.now() - this.#usedAtMs >= forMs) this.close();
  }

  /** Closes the connection; requests in flight fail. */
  close(): void {
    const broker = this.#broker;
    this.#broker = null;
    if (broker !== null) cutOff(broker);
  }

  async #connect(): Promise<Broker> {
    this.close();
    const broker = this.#createBroker(this.#address);
    this.#broker = broker;
    try {
      await broker.connect();
      return broker;
    } catch (error) {
      // After a rejected authentication, the connection is unusable.
      if (this.#broker === broker) this.close();
      throw error;
    }
  }
}

/** `true` if the connection is open. If its session has to be renewed, the next request renews it. */
function isUp({ connectionPool, versions }: Broker): boolean {
  return versions !== null && connectionPool.pool[0]?.isConnected() === true;
}

function protocolOf<Result>(request: DirectRequest<Result>): Protocol {
  const { apiKey, apiName, apiVersion } = request;
  return {
    request: {
      apiKey,
      apiName,
      apiVersion,
      encode: async (roomBytes = 0) => ({ buffer: request.encode(roomBytes), roomBytes }),
    },
    response: {
      decode: async (payload: Buffer) => request.read(payload),
      parse: async (result: unknown) => result,
    },
  };
}

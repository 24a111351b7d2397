/**
 * One open connection to a broker: its versions, its authentication, and when its requests are sent. It ends with the first
 * failure: then all of its requests fail, and `broker-connection.ts` opens another one.
 *
 *   it ends with                          because
 *   the end of its socket                 `broker-socket.ts`
 *   a request without a response          brokers respond in order, so nothing more can arrive
 *   a rejected authentication             the broker accepts no other
 *
 * A session is renewed by the first request after 85 to 95 % of its time, at random, so that connections that were opened
 * together do not authenticate at the same time. During an authentication, a broker accepts no other request, so the
 * requests wait (`request-queue.ts`). It rejects an authentication within a second of the previous one.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { BrokerSocket, type BrokerSocketOptions } from "./broker-socket.ts";
import {
  ConnectionClosedError,
  ConnectionError,
  connectionFailure,
  createErrorFromCode,
  RequestTimeoutError,
} from "./errors.ts";
import type { Request, Throttling } from "./request.ts";
import { type Queued, RequestQueue } from "./request-queue.ts";
import { type BrokerVersions, commonVersion } from "./request-version.ts";
import { apiVersions } from "./requests.ts";
import { authenticate, type Credentials } from "./sasl.ts";

/** UNSUPPORTED_VERSION. The response then still lists the versions. */
const UNSUPPORTED = 35;
/** A connection that is not ready after this time, with the authentication, counts as failed. So does a renewal. */
const READY_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** Brokers reject an authentication within a second of the previous one. */
const AGAIN_AFTER_MS = 1_100;
const SHARE_MIN = 0.85;
const SHARE_MAX = 0.95;

export interface ConnectionOptions extends Omit<BrokerSocketOptions, "onEnded"> {
  /** For messages, such as `kafka-1:9092`. */
  readonly name: string;
  readonly credentials: Credentials | null;
  /** Called when the connection is open, before the authentication. */
  readonly onConnected: () => void;
  /** Called if the connection could not be opened. */
  readonly onUnreachable: (error: Error) => void;
  readonly onThrottled: (request: string, throttleMs: number) => void;
  /** Called once the connection is closed, also if it was never open. */
  readonly onClosed: () => void;
}

interface SentRequest extends Queued {
  readonly request: Request<unknown>;
  readonly version: number;
  readonly resolve: (result: never) => void;
}

export class OpenConnection {
  readonly #options: ConnectionOptions;
  readonly #socket: BrokerSocket;
  readonly #share = SHARE_MIN + Math.random() * (SHARE_MAX - SHARE_MIN);
  readonly #look: NodeJS.Timeout;
  readonly #queue = new RequestQueue<SentRequest>((sent) => void this.#start(sent));
  /** Rejects when the connection is closed. */
  readonly #closed = Promise.withResolvers<never>();
  /** Set once, by `open`. */
  #versions: BrokerVersions = {};
  #isOpen = false;
  /** Set once, by `close`. */
  #isClosed = false;
  /** Set by each authentication. */
  #authenticatedAtMs = 0;
  #sessionMs = 0;
  #isAuthenticating = false;
  /** `true` during the first authentication. */
  #isLoggingIn = false;

  /** Starts to connect. @throws ConnectionError if the port or a certificate cannot be used. */
  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#closed.promise.catch(() => undefined);
    try {
      this.#socket = new BrokerSocket({ ...options, onEnded: (error) => this.#lost(error) });
    } catch (error) {
      throw connectionFailure(error);
    }
    this.#look = setInterval(() => this.#closeIfLate(), LOOK_EVERY_MS).unref();
  }

  /** @throws ConnectionError, AuthenticationError, NoCommonVersionError, or the error of a token's source. */
  async open(): Promise<this> {
    try {
      await this.#inTime(this.#prepare());
      return this;
    } catch (error) {
      this.close();
      throw connectionFailure(error);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#isClosed;
  }

  /** The request versions that the broker accepts. */
  get versions(): BrokerVersions {
    return this.#versions;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** `true` if requests wait in this process because the broker has requested a pause. */
  get hasPending(): boolean {
    return this.#queue.hasPending;
  }

  /** `true` if the latest response had a throttle time. */
  get isThrottled(): boolean {
    return this.#queue.isThrottled;
  }

  /** How long the broker will not read from the connection. */
  get throttledForMs(): number {
    return this.#queue.throttledForMs;
  }

  /** Collects the writes of this turn of the event loop. */
  cork(): void {
    this.#socket.cork();
  }

  /** @throws NoCommonVersionError */
  send<Result>(request: Request<Result>): Promise<Result> {
    const { limitMs = REQUEST_LIMIT_MS } = request;
    const version = this.#version(request);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const dueMs = performance.now() + limitMs;
    const sent: SentRequest = { request, version, resolve, reject, dueMs };
    if (this.#mustAuthenticate()) void this.#renew();
    if (this.isOpen) this.#queue.add(sent);
    else reject(new ConnectionClosedError("Closed connection"));
    return promise;
  }

  /** Ends the connection; its requests fail. */
  close(error: Error = new ConnectionClosedError("Closed connection")): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isOpen = false;
    this.#options.onClosed();
    clearInterval(this.#look);
    this.#closed.reject(error);
    this.#queue.fail(error);
    this.#socket.end(error);
  }

  /** A broker that stops or starts cuts off authentications. Startup then tries the next address (`errors.ts`). */
  #lost(error: Error): void {
    const isCutOff = this.#isLoggingIn && error instanceof ConnectionClosedError;
    this.close(isCutOff ? new ConnectionError(error.message, { cause: error }) : error);
  }

  /** Connects, finds out which versions the broker accepts, and authenticates. */
  async #prepare(): Promise<void> {
    const { onConnected, onUnreachable } = this.#options;
    try {
      await this.#socket.connected();
    } catch (error) {
      // Not if it was closed from here.
      if (!(error instanceof ConnectionClosedError)) onUnreachable(error as Error);
      throw error;
    }
    onConnected();
    this.#isOpen = true;
    this.#versions = await this.#requestVersions();
    this.#isLoggingIn = true;
    await this.#authenticate();
    this.#isLoggingIn = false;
  }

  async #requestVersions(): Promise<BrokerVersions> {
    const request = apiVersions("", "");
    const { kind } = request;
    this.#versions = { [kind.apiKey]: { minVersion: 0, maxVersion: Math.max(...kind.versions) } };
    const { errorCode, apiKeys } = await this.send(request);
    const versions = Object.fromEntries(apiKeys.map((each) => [each.apiKey, each] as const));
    if (errorCode === UNSUPPORTED) commonVersion(kind, versions[kind.apiKey], this.#options.name);
    if (errorCode !== 0) throw createErrorFromCode(errorCode);
    return versions;
  }

  async #authenticate(): Promise<void> {
    const { credentials } = this.#options;
    if (credentials === null) return;
    // These requests do not wait in the queue, which may be held for them.
    this.#sessionMs = await authenticate(credentials, (request) =>
      this.#socket.send(request, this.#version(request)),
    );
    this.#authenticatedAtMs = performance.now();
  }

  #mustAuthenticate(): boolean {
    if (this.#isAuthenticating || !(this.#sessionMs > 0)) return false;
    return performance.now() - this.#authenticatedAtMs >= this.#sessionMs * this.#share;
  }

  async #renew(): Promise<void> {
    this.#isAuthenticating = true;
    this.#queue.hold();
    const waitMs = this.#authenticatedAtMs + AGAIN_AFTER_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    if (!this.#isOpen) return;
    try {
      await this.#inTime(this.#authenticate());
      this.#isAuthenticating = false;
      this.#queue.release();
    } catch (error) {
      // The connection's requests fail as after a lost connection, so they are repeated.
      const { message } = connectionFailure(error);
      this.close(new ConnectionClosedError(`cannot authenticate again: ${message}`));
    }
  }

  /** Waits for steps of this connection until it is closed, which it is if they take too long. */
  async #inTime(steps: Promise<void>): Promise<void> {
    const late = setTimeout(() => this.close(new ConnectionError("no response")), READY_LIMIT_MS);
    await Promise.race([steps, this.#closed.promise]).finally(() => clearTimeout(late));
  }

  #version({ kind }: Request<unknown>): number {
    return commonVersion(kind, this.#versions[kind.apiKey], this.#options.name);
  }

  async #start(sent: SentRequest): Promise<void> {
    const request = sent.request as Request<Partial<Throttling>>;
    try {
      const response = await this.#socket.send(request, sent.version);
      const { throttleTimeMs = 0 } = response;
      if (throttleTimeMs > 0) this.#options.onThrottled(request.kind.apiName, throttleTimeMs);
      this.#queue.finish(sent, throttleTimeMs);
      sent.resolve(response as never);
    } catch (error) {
      this.#queue.finish(sent, 0);
      sent.reject(error as Error);
    }
  }

  #closeIfLate(): void {
    const late = this.#queue.late();
    if (late === undefined) return;
    const { apiName } = late.request.kind;
    this.close(new RequestTimeoutError(`Request ${apiName} got no response in time`));
  }
}

/**
 * One open connection to a broker, over @platformatic/kafka's `Connection`. It ends with the first failure: then all of
 * its requests fail, and `broker-connection.ts` opens another one.
 *
 *   it ends with                          because
 *   a lost connection
 *   a request without a response          brokers respond in order, so nothing more can arrive
 *   a rejected authentication             the broker accepts no other
 *   a response that is too large, or      @platformatic/kafka keeps a response until it is complete
 *   whose length is impossible            (`frame-lengths.ts`)
 *
 * A session is renewed by the first request after 85 to 95 % of its time, at random, so that connections that were opened
 * together do not authenticate at the same time. During an authentication, a broker accepts no other request, so the
 * requests wait (`request-queue.ts`). It rejects an authentication within a second of the previous one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Connection, ResponseError } from "@platformatic/kafka";

import { connectionFailure, requestFailure } from "./connection-failure.ts";
import { ConnectionClosedError, createErrorFromCode, RequestTimeoutError } from "./errors.ts";
import { FrameLengths } from "./frame-lengths.ts";
import type { Request, Throttling } from "./request.ts";
import { type Queued, RequestQueue } from "./request-queue.ts";
import { type BrokerVersions, commonVersion } from "./request-version.ts";
import { apiVersions } from "./requests.ts";
import { type Credentials, saslOptions } from "./sasl.ts";

/** UNSUPPORTED_VERSION. The response then still lists the versions. */
const UNSUPPORTED = 35;
/** An attempt to connect that takes longer than this counts as failed. */
const CONNECT_LIMIT_MS = 5_000;
/** The same, with the authentication. */
const READY_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;
/** @platformatic/kafka's own limit, which has one value for all requests, and does not know about throttling. */
const NO_LIMIT_MS = 2_147_483_647;
const NO_LIMIT = 1_000_000;
const LOOK_EVERY_MS = 1_000;
const KEEP_ALIVE_DELAY_MS = 60_000;
/** Brokers reject an authentication within a second of the previous one. */
const AGAIN_AFTER_MS = 1_100;
const SHARE_MIN = 0.85;
const SHARE_MAX = 0.95;

export interface ConnectionOptions {
  readonly clientId: string;
  readonly host: string;
  readonly port: number;
  /** For messages, such as `kafka-1:9092`. */
  readonly name: string;
  readonly tls: Exclude<ConstructorParameters<typeof Connection>[1], undefined>["tls"];
  readonly credentials: Credentials | null;
  /** Called when the connection is open, before the authentication. */
  readonly onConnected: () => void;
  /** Called if the connection could not be opened. */
  readonly onUnreachable: (error: Error) => void;
  readonly onThrottled: (request: string, throttleMs: number) => void;
  /** Called once the connection is closed, also if it was never open. */
  readonly onClosed: () => void;
}

interface Sent extends Queued {
  readonly request: Request<unknown>;
  readonly version: number;
  readonly resolve: (result: never) => void;
}

/** @param share the part of the session after which it is time to authenticate. */
function isTimeToAuthenticate(sinceLoginMs: number, sessionMs: number, share: number): boolean {
  return sessionMs > 0 && sinceLoginMs >= sessionMs * share;
}

export class OpenConnection {
  readonly #options: ConnectionOptions;
  readonly #connection: Connection;
  readonly #share = SHARE_MIN + Math.random() * (SHARE_MAX - SHARE_MIN);
  readonly #look: NodeJS.Timeout;
  readonly #queue = new RequestQueue<Sent>((sent) => this.#start(sent));
  #versions: BrokerVersions = {};
  /** Rejects when the connection is closed. */
  readonly #closed = Promise.withResolvers<never>();
  #isOpen = false;
  #isClosed = false;
  #authenticatedAtMs = 0;
  #sessionMs = 0;
  #isAuthenticating = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { clientId, tls, credentials } = options;
    const sasl = credentials && saslOptions(credentials, (lifetimeMs) => this.#login(lifetimeMs));
    this.#connection = new Connection(clientId, {
      connectTimeout: READY_LIMIT_MS,
      requestTimeout: NO_LIMIT_MS,
      maxInflights: NO_LIMIT,
      ...(tls && { tls }),
      ...(sasl && { sasl }),
    });
    this.#closed.promise.catch(() => undefined);
    this.#look = setInterval(() => this.#closeIfLate(), LOOK_EVERY_MS).unref();
  }

  /** @throws ConnectionError, AuthenticationError, NoCommonVersionError, or the error of a token's source. */
  async open(): Promise<this> {
    try {
      await this.#connect();
      return this;
    } catch (error) {
      this.close();
      throw connectionFailure(error, this.#options.credentials?.mechanism ?? "");
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The request versions that the broker accepts. */
  get versions(): BrokerVersions {
    return this.#versions;
  }

  get bytesRead(): number {
    return this.#connection.socket.bytesRead;
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
    const { socket } = this.#connection;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  /** @throws NoCommonVersionError */
  send<Result>(request: Request<Result>): Promise<Result> {
    const { kind, limitMs = REQUEST_LIMIT_MS } = request;
    const version = commonVersion(kind, this.#versions[kind.apiKey], this.#options.name);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const dueMs = performance.now() + limitMs;
    const sent: Sent = { request, version, resolve, reject, dueMs };
    if (this.#mustAuthenticate()) void this.#authenticate();
    if (this.#isOpen) this.#queue.add(sent);
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
    const { socket } = this.#connection;
    // Ends the timer for connecting, which would keep the process running for ten seconds.
    this.#connection.close(() => undefined);
    // Undefined if @platformatic/kafka has not come that far.
    if ((socket as unknown) !== undefined) socket.destroy();
    this.#queue.fail(error);
    this.#closed.reject(error);
  }

  async #connect(): Promise<void> {
    const { host, port, name, tls, onConnected, onUnreachable } = this.#options;
    const connection = this.#connection;
    // Without a listener, Node would throw; `connect` rejects, and `close` follows otherwise.
    connection.on("error", () => undefined);
    const connected = connection.connect(host, port) as Promise<void>;
    const { socket } = connection;
    const late = setTimeout(() => socket.destroy(new Error("no response")), CONNECT_LIMIT_MS);
    let isConnected = false;
    socket.once(tls ? "secureConnect" : "connect", () => {
      isConnected = true;
      clearTimeout(late);
      onConnected();
    });
    let cause: Error | null = null;
    socket.once("error", (error) => {
      cause = error;
      if (!isConnected) onUnreachable(error);
    });
    socket.once("close", () => {
      clearTimeout(late);
      const text = cause === null ? "" : `: ${cause.message}`;
      this.close(new ConnectionClosedError(`Closed connection${text}`, { cause }));
    });
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
    const frames = new FrameLengths();
    // Comes before the listener that keeps the bytes.
    socket.prependListener("data", (bytes: Buffer) => {
      const problem = frames.problemIn(bytes);
      if (problem !== null) this.close(new ConnectionClosedError(problem));
    });
    // A socket that is closed while it connects has no error, so @platformatic/kafka would wait for its own limit.
    connected.catch(() => undefined);
    await Promise.race([connected, this.#closed.promise]);
    this.#isOpen = true;
    const kind = { ...apiVersions("", "").kind };
    this.#versions = { [kind.apiKey]: { minVersion: 0, maxVersion: Math.max(...kind.versions) } };
    const { errorCode, apiKeys } = await this.send(apiVersions("", ""));
    const entries = apiKeys.map((each) => [each.apiKey, each] as const);
    this.#versions = Object.fromEntries(entries);
    if (errorCode === UNSUPPORTED) commonVersion(kind, this.#versions[kind.apiKey], name);
    if (errorCode !== 0) throw createErrorFromCode(errorCode);
  }

  #login(lifetimeMs: number): void {
    this.#authenticatedAtMs = performance.now();
    this.#sessionMs = lifetimeMs;
  }

  #mustAuthenticate(): boolean {
    if (this.#isAuthenticating) return false;
    const sinceMs = performance.now() - this.#authenticatedAtMs;
    return isTimeToAuthenticate(sinceMs, this.#sessionMs, this.#share);
  }

  #start(sent: Sent): void {
    sent.request.send(this.#connection, sent.version, (error, response) => {
      // @platformatic/kafka throws if a response has any error code; the callers decide about these.
      const result = error instanceof ResponseError ? responseOf(error) : response;
      const throttleMs = Math.max(0, result?.throttleTimeMs ?? 0);
      if (throttleMs > 0) this.#options.onThrottled(sent.request.kind.apiName, throttleMs);
      this.#queue.finish(sent, throttleMs);
      if (result === undefined) sent.reject(requestFailure(error));
      else sent.resolve(result as never);
    });
  }

  async #authenticate(): Promise<void> {
    this.#isAuthenticating = true;
    this.#queue.hold();
    const waitMs = this.#authenticatedAtMs + AGAIN_AFTER_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    if (!this.#isOpen) return;
    const done = this.#connection.ready();
    this.#connection.reauthenticate();
    try {
      await done;
      this.#isAuthenticating = false;
      this.#queue.release();
    } catch (error) {
      // The connection's requests fail as after a lost connection, so they are repeated.
      const { message } = connectionFailure(error, "");
      this.close(new ConnectionClosedError(`cannot authenticate again: ${message}`));
    }
  }

  #closeIfLate(): void {
    const late = this.#queue.late();
    if (late === undefined) return;
    const { apiName } = late.request.kind;
    this.close(new RequestTimeoutError(`Request ${apiName} got no response in time`));
  }
}

function responseOf(error: ResponseError): Throttling {
  return (error as ResponseError & { readonly response: Throttling }).response;
}

/**
 * Sends webhooks with undici. A connection is used for one request at a time. Connections are kept alive. The most
 * recently used one is reused first, so that superfluous connections stay idle and are closed automatically. A
 * connection that has reached its greatest age is closed instead of reused (`http/kept-connection.ts`).
 *
 *   the exchange                                          result
 *   headers and body arrive                               response
 *   the status line arrives, and then                     response; the connection is closed
 *     more than 64 KiB of body; 256 KiB, if the request needs it
 *     more than 24 KiB of anything else
 *     a violation of the protocol
 *     the connection fails or ends too early
 *     the deadline passes
 *   one of these happens before the status line arrives   no response, with its cause
 *   the headers contain two different lengths             no response, with the cause `protocol`
 *   a proxy fails before the tunnel is open               not sent (`http/tunnel.ts`)
 *
 * Once an endpoint has returned a status, no error in the rest of the response causes a retry
 * (`http/response-head.ts` defines what counts as a status line, and describes what other clients do).
 *
 * If a request certainly did not reach the endpoint, it is sent again immediately, on a new connection and within
 * the same deadline. A request that may have been processed is not sent again:
 *
 *   the kept-alive connection                                   the request
 *   is found closed before anything is written to it            uses a new connection (by undici)
 *   accepts no byte, because the write fails immediately        is sent again, once
 *   ends after bytes were written, without a response           has no response, because it may have arrived
 *
 * The deadline starts with `send`, and covers the connection, TLS, headers and body. undici's own pool is not used:
 * it cannot cancel a request that is still connecting, and it searches all connections for each request.
 */

import { isIP } from "node:net";
import { type Dispatcher, errors } from "undici";
import {
  createDeadlines,
  type Deadline,
  type Deadlines,
  type Expiring,
} from "../../../base/http/deadlines.ts";
import {
  dropConnection,
  type KeptConnection,
  keepConnection,
  makeConnection,
  type Opening,
  type Origin,
  Origins,
  type Target,
  takeConnection,
} from "../../../base/http/kept-connection.ts";
import { boundedResolve, type Resolve, systemResolve } from "../../../base/http/lookup.ts";
import { ProxyError } from "../../../base/http/tunnel.ts";
import { systemClock } from "../../../base/runtime/clock.ts";
import {
  type Cause,
  type Phases,
  type RequestResult,
  responded,
  type SendResult,
  type TransportOptions,
} from "../port.ts";
import { causeOf } from "./cause.ts";
import type { Connected, HttpConnections, RealHttp } from "./http-port.ts";
import type { WebhookRequest } from "./request.ts";
import type { WebhookEndpoint } from "./settings.ts";
import { Ways } from "./ways.ts";

/** Maximum size of a response body (docs/retries.md#attempts). */
export const RESPONSE_BODY_MAX_BYTES = 65_536;
/** Maximum size of a response body if the request needs the body. */
export const READ_BODY_MAX_BYTES = 262_144;

/** @param resolve looks up the addresses of names. Tests replace this function. */
export function createHttp(
  options: TransportOptions,
  resolve: Resolve = boundedResolve(systemResolve, systemClock),
): RealHttp {
  const deadlines = createDeadlines(options.timeoutMs, () => performance.now());
  const ways = new Ways(options, resolve);
  return {
    update: (egress) => ways.update(egress),
    open: (destination) => new Connections(destination, ways, deadlines),
  };
}

type Done = (result: RequestResult) => void;

/** The connections of one destination. */
class Connections implements HttpConnections {
  readonly #ways: Ways;
  readonly #deadlines: Deadlines;
  readonly #origins: Origins;

  constructor(destination: Connected, ways: Ways, deadlines: Deadlines) {
    this.#ways = ways;
    this.#deadlines = deadlines;
    this.#origins = new Origins(ways.optionsOf(destination));
  }

  send(endpoint: WebhookEndpoint, request: WebhookRequest, done: Done, phases?: Phases): void {
    sendOn(this.#origins.targetOf(endpoint), request, this.#deadlines, done, phases);
  }

  update(changed: Connected): void {
    this.#origins.update(changed.endpoints, this.#ways.optionsOf(changed));
  }

  close(): Promise<void> {
    return this.#origins.close();
  }
}

function sendOn(
  { origin, path }: Target,
  request: WebhookRequest,
  deadlines: Deadlines,
  done: Done,
  phases: Phases | undefined,
): void {
  const { method, body } = request;
  const headers: string[] = [];
  for (const [name, value] of request.headers) headers.push(name, value);
  const options = { path, method, headers, body, blocking: false };
  const reads = request.readsResponse === true;
  const exchange = new Exchange(origin, options, deadlines, done, phases, reads);
  exchange.start();
}

/** One request on its connection. undici calls the `on` methods. */
class Exchange implements Dispatcher.DispatchHandler, Expiring {
  #isSent = false;
  readonly #origin: Origin;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #deadlines: Deadlines;
  readonly #done: Done;
  readonly #startedAtMs = performance.now();
  readonly #deadline: Deadline;
  #status = 0;
  #retryAfter: string | null = null;
  #bodyBytes = 0;
  #kept: KeptConnection;
  #isUnwritten = false;
  #isSecond = false;
  #isSettled = false;
  readonly #phases: Phases | undefined;
  /** Pieces of the body of a successful response; null if the body is not needed. */
  readonly #read: Buffer[] | null;

  constructor(
    origin: Origin,
    options: Dispatcher.DispatchOptions,
    deadlines: Deadlines,
    done: Done,
    phases: Phases | undefined,
    reads: boolean,
  ) {
    this.#phases = phases;
    this.#read = reads ? [] : null;
    this.#origin = origin;
    this.#options = options;
    this.#kept = takeConnection(origin, this.#startedAtMs);
    this.#deadlines = deadlines;
    this.#done = done;
    this.#deadline = deadlines.set(this, this.#startedAtMs);
  }

  start(): void {
    if (this.#phases !== undefined) this.#kept.onOpen = this;
    this.#kept.client.dispatch(this.#options, this);
    this.#isSent = true;
  }
  opening(...socket: Opening): void {
    noteOpening(socket, this.#phases ?? {}, () => this.#durationMs());
  }

  onRequestStart(): void {
    this.#kept.socket?.begin();
  }

  /**
   * undici calls this when the request has been written. If the request fails before this call, the operating system
   * rejected the whole write.
   */
  onRequestSent(): void {
    const { socket } = this.#kept;
    this.#isUnwritten = socket !== null && socket.errored !== null;
    if (this.#phases !== undefined) this.#phases.sentMs = this.#durationMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // This is an interim response that was not recognized earlier, for example because of another version of HTTP.
    if (status < 200) return;
    this.#status = status;
    this.#kept.socket?.head.forget();
    if (this.#phases !== undefined) this.#phases.headMs = this.#durationMs();
    const retryAfter = headers["retry-after"];
    if (retryAfter !== undefined) this.#retryAfter = [retryAfter].flat().join();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    this.#kept.socket?.wasBody(chunk.length);
    if (this.#phases?.keepBytes !== undefined) keepAnswer(this.#phases, this.#status, chunk);
    const mostBytes = this.#read === null ? RESPONSE_BODY_MAX_BYTES : READ_BODY_MAX_BYTES;
    if (this.#bodyBytes > mostBytes) this.#settle(this.#response(), "drop");
    // A copy, because a view would keep the whole buffer in memory.
    else if (isSuccess(this.#status)) this.#read?.push(Buffer.from(chunk));
  }

  onResponseEnd(): void {
    const isRead = this.#read !== null && isSuccess(this.#status);
    this.#settle(this.#response(isRead ? Buffer.concat(this.#read) : undefined), "keep");
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isSettled) return;
    if (this.#isUnwritten && !this.#isSecond) this.#startAgain();
    else this.#breakOff(causeOf(codeOf(error)), error);
  }

  #startAgain(): void {
    this.#isSecond = true;
    dropConnection(this.#origin, this.#kept);
    this.#kept = makeConnection(this.#origin);
    this.start();
  }

  expire(): void {
    this.#breakOff("timeout", null);
  }

  /** Ends the exchange. If the status line has arrived, the status decides the result. */
  #breakOff(cause: Cause, error: Error | null): void {
    const unsent = error instanceof ProxyError ? error : this.#kept.socket?.tunnel?.overdue();
    if (unsent != null) {
      const { proxy, message: error } = unsent;
      this.#settle({ kind: "not-sent", proxy, error, durationMs: this.#durationMs() }, "drop");
      return;
    }
    const head = this.#status === 0 ? (this.#kept.socket?.head.read() ?? null) : null;
    if (head !== null) {
      this.#status = head.status;
      this.#retryAfter = head.retryAfter;
    }
    this.#settle(this.#status === 0 ? this.#noResponse(cause) : this.#response(), "drop");
  }

  #response(body?: Buffer): SendResult {
    return responded(this.#status, this.#retryAfter, this.#durationMs(), this.#phases, body);
  }

  #noResponse(cause: Cause): SendResult {
    return { kind: "no-response", cause, durationMs: this.#durationMs(), phases: this.#phases };
  }

  #durationMs(): number {
    return performance.now() - this.#startedAtMs;
  }

  /** Only the first call has an effect: undici also reports the end of connections that were closed here. */
  #settle(result: RequestResult, connection: "keep" | "drop"): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#deadlines.clear(this.#deadline);
    this.#kept.onOpen = null;
    if (connection === "keep") keepConnection(this.#origin, this.#kept);
    else dropConnection(this.#origin, this.#kept);
    // undici rejects some requests synchronously, but `done` must be called after `send` has returned.
    if (this.#isSent) this.#tell(result);
    else queueMicrotask(() => this.#tell(result));
  }

  /** undici would swallow an error that is thrown here. A broken invariant must nevertheless end the process. */
  #tell(result: RequestResult): void {
    try {
      this.#done(result);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function codeOf(error: Error & { readonly code?: unknown }): string | null {
  // With this error, undici reports a response that switches the connection to another protocol, although the
  // request did not ask for this.
  if (error instanceof errors.SocketError && error.message.startsWith("bad ")) return "HPE_INVALID";
  if (typeof error.code === "string") return error.code;
  if (error instanceof errors.HTTPParserError) return "HPE_INVALID";
  // If several addresses were tried, there are several errors. The first one is used, because any of them is
  // sufficient.
  const [first] = error instanceof AggregateError ? (error.errors as (Error | undefined)[]) : [];
  return first === undefined ? null : codeOf(first);
}

/**
 * Records when each step of opening a socket was completed. @param nowMs returns the time since the start of the
 * request.
 */
function noteOpening(
  [socket, { protocol, hostname }]: Opening,
  phases: Phases,
  nowMs: () => number,
): void {
  phases.openedMs = nowMs();
  phases.isName = isIP(hostname) === 0;
  phases.isSecure = protocol === "https:";
  // This event is emitted once for each address.
  socket.tcp.once("lookup", () => {
    phases.lookedUpMs = nowMs();
  });
  // Through a proxy, the connection to the endpoint exists only when the tunnel is open.
  socket.once("connect", () => {
    phases.connectedMs = nowMs();
  });
  socket.once("secureConnect", () => {
    phases.securedMs = nowMs();
  });
}

/** Keeps the start of an unsuccessful response for diagnosis, up to `keepBytes`. */
export function keepAnswer(phases: Phases, status: number, piece: Buffer): void {
  if (isSuccess(status)) return;
  const kept = phases.kept ?? [];
  const room = (phases.keepBytes ?? 0) - kept.reduce((sum, { length }) => sum + length, 0);
  if (room <= 0) return;
  // A copy, because a view would keep the whole buffer in memory.
  kept.push(Buffer.from(piece.subarray(0, room)));
  phases.kept = kept;
}

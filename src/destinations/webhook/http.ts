/**
 * Sends webhooks by undici. Each request has a connection of its own while it lasts; connections
 * are kept alive and used again, the one used last first, so that idle ones close by themselves.
 *
 *   the exchange comes to this                     result
 *   headers and body are there                     response
 *   the status line is there, and then             response; the connection is dropped
 *     64 KiB of body come, and more
 *     24 KiB of all else come
 *     the rest breaks the protocol
 *     the connection fails or ends too early
 *     the deadline passes
 *   any of these before the status line is there   no response, with its cause
 *   two different lengths are in the head          no response, protocol
 *
 * So once an endpoint has given a status, no fault in the rest makes the request be sent again
 * (`http/response-head.ts` has what counts as a status line, and what other clients do).
 *
 * A request that surely has not reached the endpoint is sent again at once, on a new connection and
 * within the same deadline. One that may have been acted upon never is:
 *
 *   the connection that was kept alive                          request
 *   is found closed before anything is written to it            goes over a new one (undici does it)
 *   takes no byte of it: the write fails at once                sent again, once
 *   ends after bytes were written, with no answer               no response: it may have arrived
 *
 * The deadline runs from `send`: connect, TLS, headers and body share it. undici's own pool is not
 * used, since it cannot give up a request that still connects and looks through all connections
 * for each request.
 */

import { isIP } from "node:net";
import type { SecureContext } from "node:tls";
import { type Dispatcher, errors } from "undici";

import { isAllowedAddress } from "../../domain/addresses.ts";
import type { SocketOptions } from "../../http/connect.ts";
import {
  createDeadlines,
  type Deadline,
  type Deadlines,
  type Expiring,
} from "../../http/deadlines.ts";
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
} from "../../http/kept-connection.ts";
import { boundedResolve, type Resolve, systemResolve } from "../../http/lookup.ts";
import { sharedContexts, type TlsFiles } from "../../http/tls.ts";
import { systemClock } from "../../runtime/clock.ts";
import {
  type Cause,
  type Phases,
  responded,
  type SendResult,
  type TransportOptions,
} from "../port.ts";
import { causeOf } from "./cause.ts";
import type { WebhookRequest } from "./request.ts";
import type { Connected, HttpConnections, RealHttp } from "./transport.ts";

/** Response body that is read; docs/requests.md#attempts. */
export const RESPONSE_BODY_MAX_BYTES = 65_536;

/** A name's first address may be dead: time for another, and enough for one at the world's end. */
const ADDRESS_PATIENCE = 0.4;

/** @param resolve finds the addresses of names; tests say what they are. */
export function createHttp(
  options: TransportOptions,
  resolve: Resolve = boundedResolve(systemResolve, systemClock),
): RealHttp {
  const deadlines = createDeadlines(options.timeoutMs, () => performance.now());
  const contextOf = sharedContexts();
  const sockets = {
    allowAddress: (ip: string) => isAllowedAddress(ip, options.allowNetworks),
    resolve,
    addressPatienceMs: Math.max(1, Math.round(options.timeoutMs * ADDRESS_PATIENCE)),
  };
  const trusting = (ca: string | null): Trusting => {
    return { ca, shared: { ...sockets, secureContext: contextOf({ ca, cert: null, key: null }) } };
  };
  let trusted = trusting(options.ca);
  return {
    trust: (ca) => {
      if (ca === trusted.ca) return false;
      trusted = trusting(ca);
      return true;
    },
    open: (destination) => {
      const optionsOf = socketOptionsFor(() => trusted, contextOf);
      const origins = new Origins(optionsOf(destination));
      return {
        send: (endpoint, request, done, phases) => {
          sendOn(origins.targetOf(endpoint), request, deadlines, done, phases);
        },
        update: (changed) => origins.update(changed.endpoints, optionsOf(changed)),
        close: () => origins.close(),
      } satisfies HttpConnections;
    },
  };
}

/** The private CA of all destinations, and sockets that trust it. */
interface Trusting {
  readonly ca: string | null;
  readonly shared: SocketOptions;
}

/** Most destinations have no TLS files of their own. Keeps what it has made for the same ones. */
function socketOptionsFor(
  trusted: () => Trusting,
  contextOf: (files: TlsFiles) => () => SecureContext,
): (destination: Connected) => SocketOptions {
  let last: { readonly files: string; readonly options: SocketOptions } | null = null;
  return ({ tls }) => {
    const { ca, shared } = trusted();
    if (tls === null) return shared;
    const both = [ca, tls.ca].filter((text) => text !== null).join("\n");
    const files = { ca: both === "" ? null : both, cert: tls.cert, key: tls.key };
    const named = JSON.stringify(files);
    if (last?.files !== named) {
      last = { files: named, options: { ...shared, secureContext: contextOf(files) } };
    }
    return last.options;
  };
}

function sendOn(
  { origin, path }: Target,
  request: WebhookRequest,
  deadlines: Deadlines,
  done: (result: SendResult) => void,
  phases: Phases | undefined,
): void {
  const { method, body } = request;
  const headers: string[] = [];
  for (const [name, value] of request.headers) headers.push(name, value);
  const options = { path, method, headers, body, blocking: false };
  const exchange = new Exchange(origin, options, deadlines, done, phases);
  exchange.start();
}

/** One request on its connection. undici calls the `on` methods. */
class Exchange implements Dispatcher.DispatchHandler, Expiring {
  #isSent = false;
  readonly #origin: Origin;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #deadlines: Deadlines;
  readonly #done: (result: SendResult) => void;
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

  constructor(
    origin: Origin,
    options: Dispatcher.DispatchOptions,
    deadlines: Deadlines,
    done: (result: SendResult) => void,
    phases: Phases | undefined,
  ) {
    this.#phases = phases;
    this.#origin = origin;
    this.#options = options;
    this.#kept = takeConnection(origin);
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
    this.#kept.bounds.begin();
  }

  /**
   * Called when it was written: a failure by now is a write that the operating system refused
   * whole.
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
    // An interim one that could not be told before, such as of another version of HTTP.
    if (status < 200) return;
    this.#status = status;
    this.#kept.bounds.head.forget();
    if (this.#phases !== undefined) this.#phases.headMs = this.#durationMs();
    const retryAfter = headers["retry-after"];
    if (retryAfter !== undefined) this.#retryAfter = [retryAfter].flat().join();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    this.#kept.bounds.wasBody(chunk.length);
    if (this.#phases?.keepBytes !== undefined) keepAnswer(this.#phases, this.#status, chunk);
    if (this.#bodyBytes > RESPONSE_BODY_MAX_BYTES) this.#settle(this.#response(), "drop");
  }

  onResponseEnd(): void {
    this.#settle(this.#response(), "keep");
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isSettled) return;
    if (this.#isUnwritten && !this.#isSecond) this.#startAgain();
    else this.#breakOff(causeOf(codeOf(error)));
  }

  #startAgain(): void {
    this.#isSecond = true;
    dropConnection(this.#origin, this.#kept);
    this.#kept = makeConnection(this.#origin);
    this.start();
  }

  expire(): void {
    this.#breakOff("timeout");
  }

  /** The status decides, if its line has come. */
  #breakOff(cause: Cause): void {
    const head = this.#status === 0 ? this.#kept.bounds.head.read() : null;
    if (head !== null) {
      this.#status = head.status;
      this.#retryAfter = head.retryAfter;
    }
    this.#settle(this.#status === 0 ? this.#noResponse(cause) : this.#response(), "drop");
  }

  #response(): SendResult {
    return responded(this.#status, this.#retryAfter, this.#durationMs(), this.#phases);
  }

  #noResponse(cause: Cause): SendResult {
    return { kind: "no-response", cause, durationMs: this.#durationMs(), phases: this.#phases };
  }

  #durationMs(): number {
    return performance.now() - this.#startedAtMs;
  }

  /** Only the first one counts: undici's words about a dropped connection are no news. */
  #settle(result: SendResult, connection: "keep" | "drop"): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#deadlines.clear(this.#deadline);
    this.#kept.onOpen = null;
    if (connection === "keep") keepConnection(this.#origin, this.#kept);
    else dropConnection(this.#origin, this.#kept);
    // undici refuses some requests at once, and `send` promises to have returned first.
    if (this.#isSent) this.#tell(result);
    else queueMicrotask(() => this.#tell(result));
  }

  /** undici would swallow an error thrown here: a broken invariant has to end the process. */
  #tell(result: SendResult): void {
    try {
      this.#done(result);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function codeOf(error: Error & { readonly code?: unknown }): string | null {
  // undici says so of a response that takes over the connection, which nobody asked for.
  if (error instanceof errors.SocketError && error.message.startsWith("bad ")) return "HPE_INVALID";
  if (typeof error.code === "string") return error.code;
  if (error instanceof errors.HTTPParserError) return "HPE_INVALID";
  // Several addresses were tried: the first error says as much as any.
  const [first] = error instanceof AggregateError ? (error.errors as (Error | undefined)[]) : [];
  return first === undefined ? null : codeOf(first);
}

/** When a socket got through the steps of being opened. @param nowMs since the request began. */
function noteOpening(
  [socket, { protocol, hostname }]: Opening,
  phases: Phases,
  nowMs: () => number,
): void {
  phases.openedMs = nowMs();
  phases.isName = isIP(hostname) === 0;
  phases.isSecure = protocol === "https:";
  // One event for each address.
  socket.once("lookup", () => {
    phases.lookedUpMs = nowMs();
  });
  socket.once("connect", () => {
    phases.connectedMs = nowMs();
  });
  socket.once("secureConnect", () => {
    phases.securedMs = nowMs();
  });
}

/**
 * Keeps the start of a response that is not a success, for those who look for its cause: of a piece of
 * its body, what there is room for.
 */
export function keepAnswer(phases: Phases, status: number, piece: Buffer): void {
  if (status >= 200 && status < 300) return;
  const kept = phases.kept ?? [];
  const room = (phases.keepBytes ?? 0) - kept.reduce((sum, { length }) => sum + length, 0);
  if (room <= 0) return;
  // A copy: a view would keep the whole read from being freed.
  kept.push(Buffer.from(piece.subarray(0, room)));
  phases.kept = kept;
}

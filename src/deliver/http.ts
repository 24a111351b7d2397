/**
 * Sends webhooks by undici. Each request has a connection of its own while it lasts; connections
 * are kept alive and used again, the one used last first, so that idle ones close by themselves.
 *
 *   the exchange comes to this                     result
 *   headers and body are there                     response
 *   64 KiB of body are there, and more comes       response; the connection is dropped
 *   the deadline passes, wherever it stands        no response, timeout; the connection is dropped
 *   the connection fails or ends too early         no response, with its cause
 *
 * The deadline runs from `send`: connect, TLS, headers and body share it. undici's own pool is not
 * used, since it cannot give up a request that still connects and looks through all connections
 * for each request.
 */

import type { Socket } from "node:net";
import { Client, type Dispatcher, errors } from "undici";

import { isAllowedAddress, type Network } from "../domain/addresses.ts";
import type { Endpoint, WebhookDestination } from "../domain/destination.ts";
import { openSocket, type SocketOptions, type TlsSession } from "../http/connect.ts";
import {
  createDeadlines,
  type Deadline,
  type Deadlines,
  type Expiring,
} from "../http/deadlines.ts";
import { type ResponseStart, skipContinue } from "../http/skip-continue.ts";
import type {
  Cause,
  EndpointConnections,
  HttpPort,
  HttpResult,
  WebhookRequest,
} from "./attempt.ts";
import { causeOf } from "./cause.ts";

/** Response body that is read; SPEC section 8.2. */
export const RESPONSE_BODY_BYTES_MAX = 65_536;

export interface HttpOptions {
  /** At most 5 s. */
  readonly timeoutMs: number;
  /** Networks that may be requested although they are private. */
  readonly allowNetworks: readonly Network[];
  /** PEM text of a private CA, added to the public roots; null: none. */
  readonly ca: string | null;
}

export function createHttp(options: HttpOptions): HttpPort {
  const deadlines = createDeadlines(options.timeoutMs, () => performance.now());
  return {
    open: (destination) => {
      const socketOptions = socketOptionsOf(destination, options);
      const origins = new Map<string, Origin>();
      return {
        send: (endpoint, request, done) => {
          const target = targetOf(endpoint, origins, socketOptions);
          sendOn(target, request, deadlines, done);
        },
        close: async () => {
          const lanes = [...origins.values()].flatMap(({ all }) => [...all]);
          await Promise.all(lanes.map(({ client }) => client.destroy()));
        },
      } satisfies EndpointConnections;
    },
  };
}

function socketOptionsOf({ tls }: WebhookDestination, options: HttpOptions): SocketOptions {
  const ca = [options.ca, tls?.ca ?? null].filter((text) => text !== null).join("\n");
  return {
    allowAddress: (ip) => isAllowedAddress(ip, options.allowNetworks),
    ca: ca === "" ? null : ca,
    cert: tls?.cert ?? null,
    key: tls?.key ?? null,
  };
}

/** A connection, or the place for one: the client connects when it has a request. */
interface Lane {
  readonly client: Client;
  readonly start: ResponseStart;
  socket: Socket | null;
}

interface Origin {
  readonly url: URL;
  readonly options: SocketOptions;
  readonly session: TlsSession;
  readonly free: Lane[];
  readonly all: Set<Lane>;
}

interface Target {
  readonly origin: Origin;
  readonly path: string;
}

/** Parsed once per URL. */
const targets = new WeakMap<Endpoint, { origin: string; path: string; url: URL }>();

function targetOf(
  endpoint: Endpoint,
  origins: Map<string, Origin>,
  options: SocketOptions,
): Target {
  let parsed = targets.get(endpoint);
  if (parsed === undefined) {
    const url = new URL(endpoint.url);
    parsed = { origin: url.origin, path: `${url.pathname}${url.search}`, url };
    targets.set(endpoint, parsed);
  }
  let origin = origins.get(parsed.origin);
  if (origin === undefined) {
    const session = { session: undefined };
    origin = { url: parsed.url, options, session, free: [], all: new Set() };
    origins.set(parsed.origin, origin);
  }
  return { origin, path: parsed.path };
}

function makeLane(origin: Origin): Lane {
  const { url, options, session } = origin;
  const isSecure = url.protocol === "https:";
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const port = Number(url.port || (isSecure ? 443 : 80));
  const target = { protocol: url.protocol, hostname, port };
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 1,
    // The deadline takes the place of these.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, callback) => {
      const socket = openSocket(target, options, session, (error) => {
        if (error === null) callback(null, socket);
        else callback(error, null);
      });
      skipContinue(socket, lane.start);
      lane.socket = socket;
    },
  });
  const lane: Lane = { client, start: { awaits: false }, socket: null };
  origin.all.add(lane);
  return lane;
}

function sendOn(
  { origin, path }: Target,
  request: WebhookRequest,
  deadlines: Deadlines,
  done: (result: HttpResult) => void,
): void {
  const lane = origin.free.pop() ?? makeLane(origin);
  const exchange = new Exchange(origin, lane, deadlines, done);
  const { method, body } = request;
  const headers: string[] = [];
  for (const [name, value] of request.headers) headers.push(name, value);
  lane.client.dispatch({ path, method, headers, body, blocking: false }, exchange);
  exchange.isSent = true;
}

/** One request on its lane. undici calls the `on` methods. */
class Exchange implements Dispatcher.DispatchHandler, Expiring {
  isSent = false;
  readonly #origin: Origin;
  readonly #lane: Lane;
  readonly #deadlines: Deadlines;
  readonly #done: (result: HttpResult) => void;
  readonly #startedAtMs = performance.now();
  readonly #deadline: Deadline;
  #status = 0;
  #retryAfter: string | null = null;
  #bodyBytes = 0;
  #isSettled = false;

  constructor(
    origin: Origin,
    lane: Lane,
    deadlines: Deadlines,
    done: (result: HttpResult) => void,
  ) {
    this.#origin = origin;
    this.#lane = lane;
    this.#deadlines = deadlines;
    this.#done = done;
    this.#deadline = deadlines.set(this, this.#startedAtMs);
  }

  onRequestStart(): void {
    this.#lane.start.awaits = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) {
      this.#lane.start.awaits = true;
      return;
    }
    this.#status = status;
    const retryAfter = headers["retry-after"];
    if (retryAfter !== undefined) this.#retryAfter = [retryAfter].flat()[0] ?? null;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > RESPONSE_BODY_BYTES_MAX) this.#settle(this.#response(), "drop");
  }

  onResponseEnd(): void {
    this.#settle(this.#response(), "keep");
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#settle(this.#noResponse(causeOf(codeOf(error))), "drop");
  }

  expire(): void {
    this.#settle(this.#noResponse("timeout"), "drop");
  }

  #response(): HttpResult {
    const durationMs = performance.now() - this.#startedAtMs;
    return { kind: "response", status: this.#status, retryAfter: this.#retryAfter, durationMs };
  }

  #noResponse(cause: Cause): HttpResult {
    return { kind: "no-response", cause, durationMs: performance.now() - this.#startedAtMs };
  }

  /** Only the first one counts: what undici says about a dropped connection is no news. */
  #settle(result: HttpResult, connection: "keep" | "drop"): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#deadlines.clear(this.#deadline);
    if (connection === "keep") this.#origin.free.push(this.#lane);
    else dropLane(this.#origin, this.#lane);
    // undici refuses some requests at once, and `send` promises to have returned first.
    if (this.isSent) this.#tell(result);
    else queueMicrotask(() => this.#tell(result));
  }

  /** undici would swallow what is thrown here: a broken invariant has to end the process. */
  #tell(result: HttpResult): void {
    try {
      this.#done(result);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** A client that has failed is not used again: it may still have its error to work off. */
function dropLane(origin: Origin, lane: Lane): void {
  origin.all.delete(lane);
  const error = new Error("the connection is dropped");
  void lane.client.destroy(error);
  // undici cannot give up a connection that does not stand yet.
  lane.socket?.destroy(error);
}

function codeOf(error: Error & { readonly code?: unknown }): string | null {
  if (typeof error.code === "string") return error.code;
  if (error instanceof errors.HTTPParserError) return "HPE_INVALID";
  // Several addresses were tried: the first error says as much as any.
  const [first] = error instanceof AggregateError ? (error.errors as (Error | undefined)[]) : [];
  return first === undefined ? null : codeOf(first);
}

/**
 * The HTTP server of ingest: sockets, time limits, and the end of its life.
 *
 *   state       begins with   new connections   answers carry `Connection: close`   /v1/health
 *   open        listening     taken             no                                  200
 *   handover    `stop`        taken             yes                                 503
 *   draining    its end       refused           yes                                 503
 *   closed      all answered, or the drain limit
 *
 * During the hand-over a successor can listen on the same port (SO_REUSEPORT, where the system has
 * it), so that no connection is refused in between: some clients lose calls after a second of that.
 */

import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as otherWork, setTimeout as timer } from "node:timers/promises";

import type { CallType } from "../domain/call.ts";
import { type ANSWERS, type Answer, bodyOf, failure, SUCCESS, statusOf } from "./answer.ts";
import { corsHeaders } from "./cors.ts";
import { askedFor } from "./paths.ts";

export interface ServerSettings {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** PEM texts; null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly corsOrigins: readonly string[];
  readonly times: ServerTimes;
}

/** All in milliseconds. */
export interface ServerTimes {
  /** For the head of a request, from the connection or from its first byte. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** Idle connections are kept so long; longer than load balancers and clients keep theirs. */
  readonly keepAliveMs: number;
  /** How often the limits are looked at. */
  readonly checkMs: number;
}

export const SERVER_TIMES: ServerTimes = {
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 75_000,
  checkMs: 1_000,
};

/** Answers a request for calls; null: the client is gone. Never rejects. */
export type Take = (request: IncomingMessage, type: CallType | null) => Promise<Answer | null>;

export interface IngestServer {
  /** The real one where 0 was asked for. */
  readonly port: number;
  connections(): number;
  /** Resolves when every connection is closed; see the table. */
  stop(handoverMs: number, drainLimitMs: number): Promise<void>;
}

const HEADERS_BYTES_MAX = 16_384;
const TLS_HANDSHAKE_MS = 10_000;
/** For those that wait when the hand-over is over; who is told to close may come again at once. */
const ACCEPT_MS_MAX = 1_000;
/** How long a client that goes on sending is listened to, so that it reads why it should not. */
const LINGER_MS = 1_000;

/** Resolves when it listens. */
export async function startServer(settings: ServerSettings, take: Take): Promise<IngestServer> {
  const server = createHttpServer(settings);
  const origins = new Set(settings.corsOrigins);
  const sockets = new Set<Socket>();
  let accepted = 0;
  let isLeaving = false;

  server.on("connection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    note(request, response);
    if (isLeaving) response.setHeader("connection", "close");
    const { origin, "access-control-request-headers": asked } = request.headers;
    for (const [name, value] of corsHeaders(origins, origin, asked))
      response.setHeader(name, value);
    const immediate = answerAtOnce(request, response, isLeaving);
    if (immediate.kind === "answer") return send(request, response, immediate.answer);
    void take(request, immediate.type).then((answer) => {
      if (answer === null) response.destroy();
      else send(request, response, answer);
    });
  });
  server.on("clientError", onClientError);
  await listen(server, settings);
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    stop: async (handoverMs, drainLimitMs) => {
      isLeaving = true;
      await timer(handoverMs);
      // What waits by now is accepted, one connection in a turn of the loop. The kernel resets what
      // comes between the last look and the close: clients' retries cover that.
      const untilMs = performance.now() + ACCEPT_MS_MAX;
      for (let before = -1; before !== accepted && performance.now() < untilMs; ) {
        before = accepted;
        await otherWork();
      }
      const closed = once(server, "close");
      server.close();
      const limit = setTimeout(() => server.closeAllConnections(), drainLimitMs);
      await closed;
      clearTimeout(limit);
    },
  };
}

function createHttpServer({ tls, times }: ServerSettings): Server {
  const options: ServerOptions = {
    headersTimeout: times.headersMs,
    requestTimeout: times.requestMs,
    keepAliveTimeout: times.keepAliveMs,
    connectionsCheckingInterval: times.checkMs,
    maxHeaderSize: HEADERS_BYTES_MAX,
    noDelay: true,
    // Finds out about clients that went without a word.
    keepAlive: true,
  };
  if (tls === null) return createServer(options);
  const secure = { ...tls, handshakeTimeout: TLS_HANDSHAKE_MS, minVersion: "TLSv1.2" } as const;
  return createSecureServer({ ...options, ...secure });
}

async function listen(server: Server, { host, port }: ServerSettings): Promise<void> {
  const attempt = async (reusePort: boolean) => {
    server.listen({ host, port, reusePort });
    await once(server, "listening");
  };
  try {
    await attempt(true).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code !== "ENOTSUP") throw error;
      return attempt(false);
    });
  } catch (cause) {
    throw new Error(
      `ingest.host, ingest.port: cannot listen on ${host}:${port}; choose another port or stop what uses it`,
      { cause },
    );
  }
}

type Immediate =
  | { readonly kind: "calls"; readonly type: CallType | null }
  | { readonly kind: "answer"; readonly answer: Answer };

function answerAtOnce(
  request: IncomingMessage,
  response: ServerResponse,
  isLeaving: boolean,
): Immediate {
  const asked = askedFor(request.method ?? "", request.url ?? "");
  switch (asked.kind) {
    case "calls":
      return asked;
    case "health":
      return { kind: "answer", answer: isLeaving ? failure("stopping", null, 1) : SUCCESS };
    case "options":
      return { kind: "answer", answer: SUCCESS };
    case "unknown-path":
      return { kind: "answer", answer: failure("unknown-path") };
    case "wrong-method":
      response.setHeader("allow", asked.allow);
      return { kind: "answer", answer: failure("wrong-method") };
  }
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const body = bodyOf(answer);
  const isEarly = !request.complete && hasBody(request);
  if (answer.kind === "failure" && answer.retryAfterS !== null) {
    response.setHeader("retry-after", answer.retryAfterS);
  }
  if (isEarly) response.setHeader("connection", "close");
  response.writeHead(statusOf(answer), {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  if (!isEarly) {
    response.end(body);
    return;
  }
  // Ending the response would close the connection, and a client that still sends would hear of
  // that before it reads the answer.
  response.write(body);
  const limit = setTimeout(() => response.end(), LINGER_MS);
  request.once("close", () => {
    clearTimeout(limit);
    response.end();
  });
  request.resume();
}

/** Where there is none, a request is complete only after it was handled. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Requests of a connection that are not answered. */
const unanswered = new WeakMap<Socket, Set<ServerResponse>>();

function note(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  const open = unanswered.get(socket) ?? new Set();
  unanswered.set(socket, open.add(response));
  response.once("close", () => open.delete(response));
}

function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  const open = [...(unanswered.get(socket) ?? [])];
  // The answer must be to the request that is broken, not to one before it.
  const isTheirs = open.every((response) => !(response.headersSent || response.req.complete));
  if (!socket.writable || !isTheirs || open.length > 1) {
    socket.destroy();
    return;
  }
  const answer = failure(codeOf(error.code));
  const body = bodyOf(answer);
  const status = statusOf(answer);
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status] ?? ""}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

function codeOf(code: string | undefined): keyof typeof ANSWERS {
  if (code === "HPE_HEADER_OVERFLOW") return "headers-too-large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "request-timeout" : "invalid-request";
}

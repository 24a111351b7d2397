/**
 * The HTTP server of the ingest stage: sockets, time limits, and shutdown.
 *
 *   state       starts with          new connections   responses carry `Connection: close`   /v1/health
 *   open        listening            accepted          no                                    200
 *   handover    `stop`               accepted          yes                                   503
 *   draining    end of handover      refused           yes                                   503
 *   closed      all responses sent, or the drain limit
 *
 * During the handover, the process that replaces this one can listen on the same port (with SO_REUSEPORT, if the
 * system supports it), so that no connection is refused in between. This matters because some clients lose calls
 * after one second of refused connections.
 */

import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, Server as SecureServer } from "node:https";
import { setImmediate as otherWork, setTimeout as timer } from "node:timers/promises";
import { createSecureContext } from "node:tls";
import type { ConnectionLimits, TooMany } from "../../base/runtime/connections.ts";
import { limitConnections, listenOn } from "../../base/runtime/listening.ts";
import { type Asked, askedFor } from "./paths.ts";
import { corsHeaders, note, onClientError, send } from "./respond.ts";
import { type Answer, failure, SUCCESS } from "./responses.ts";

export interface ServerSettings {
  readonly host: string;
  /** The port; 0 means any free port. */
  readonly port: number;
  /** PEM strings; null for plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly corsOrigins: readonly string[];
  /** How long idle connections are kept open. */
  readonly keepAliveTimeoutMs: number;
  readonly connectionLimits: ConnectionLimits;
  readonly times: ServerTimes;
}

/** Time limits and intervals, in milliseconds. */
export interface ServerTimes {
  /**
   * Limit for the head of a request, measured from the opening of the connection, or from the first byte of a later
   * request.
   */
  readonly headersMs: number;
  /** Limit for the whole request. */
  readonly requestMs: number;
  /** The minimum rate of a body is checked over periods of this length. */
  readonly bodyWindowMs: number;
  /** The interval at which the limits are checked. */
  readonly checkMs: number;
}

export const SERVER_TIMES: ServerTimes = {
  headersMs: 10_000,
  requestMs: 30_000,
  bodyWindowMs: 10_000,
  checkMs: 1_000,
};

/** The requests that the stage handles. The server itself responds to all other requests. */
export type AskedOfStage = Extract<Asked, { readonly kind: "calls" | "settings" | "rejected" }>;

/** Returns the response to a request; null if the client has closed the connection. Never rejects. */
export type Take = (request: IncomingMessage, asked: AskedOfStage) => Promise<Answer | null>;

export interface IngestServer {
  /** The actual port, if 0 was configured. */
  readonly port: number;
  connections(): number;
  /** Sets the PEM strings for new connections. Call this only if the server uses TLS. */
  renew(tls: { readonly cert: string; readonly key: string }): void;
  /** Resolves when every connection is closed. The table above shows the steps. */
  stop(handoverMs: number, drainLimitMs: number): Promise<void>;
}

const HEADERS_MAX_BYTES = 16_384;
const TLS_HANDSHAKE_MS = 10_000;
/**
 * Time limit for accepting connections that are still waiting to be accepted at the end of the handover. There is a
 * limit because a client that has to close its connection may immediately open another one.
 */
const ACCEPT_MAX_MS = 1_000;
/**
 * Resolves when the server is listening.
 *
 * @param onTooMany called when a connection is closed because a limit is exceeded.
 */
export async function startServer(
  settings: ServerSettings,
  take: Take,
  onTooMany: (reason: TooMany) => void,
): Promise<IngestServer> {
  const server = createHttpServer(settings);
  const origins = new Set(settings.corsOrigins);
  const connections = limitConnections(server, settings.connectionLimits, onTooMany);
  let accepted = 0;
  let isLeaving = false;

  server.on("connection", () => {
    accepted += 1;
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    note(request, response);
    if (isLeaving) response.setHeader("connection", "close");
    const { origin, "access-control-request-headers": wanted } = request.headers;
    for (const [name, value] of corsHeaders(origins, origin, wanted))
      response.setHeader(name, value);
    if (request.headers.host === undefined && request.httpVersion !== "1.0") {
      response.setHeader("connection", "close");
      return send(request, response, failure("invalid-request", "the request has no Host"));
    }
    const asked = askedFor(request.method ?? "", request.url ?? "");
    if (asked.kind === "wrong-method") response.setHeader("allow", asked.allow);
    if (!isOfStage(asked)) return send(request, response, answerAtOnce(asked, isLeaving));
    const form = asked.kind === "calls" && asked.isPixel ? "image" : "json";
    void take(request, asked).then((answer) => {
      if (answer === null) response.destroy();
      else send(request, response, answer, form);
    });
  });
  server.on("clientError", onClientError);
  return {
    port: await listen(server, settings),
    connections: connections.total,
    renew: (tls) => {
      if (server instanceof SecureServer) server.setSecureContext(secure(tls));
    },
    stop: async (handoverMs, drainLimitMs) => {
      isLeaving = true;
      await timer(handoverMs);
      // Connections that are waiting now are accepted, one in each turn of the event loop. If a connection arrives
      // between the last check and the closing of the port, the kernel resets it, and the client retries.
      const untilMs = performance.now() + ACCEPT_MAX_MS;
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

function createHttpServer({ tls, times, keepAliveTimeoutMs }: ServerSettings): Server {
  const options: ServerOptions = {
    headersTimeout: times.headersMs,
    requestTimeout: times.requestMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: times.checkMs,
    maxHeaderSize: HEADERS_MAX_BYTES,
    // Without this option, Node would itself respond to a request without a Host header, but nevertheless pass the
    // request on.
    requireHostHeader: false,
    noDelay: true,
    // Keep-alive probes detect clients that have disappeared without closing the connection.
    keepAlive: true,
  };
  if (tls === null) return createServer(options);
  return createSecureServer({ ...options, ...secure(tls), handshakeTimeout: TLS_HANDSHAKE_MS });
}

/**
 * Mozilla's configuration `intermediate`, without the ciphers that need Diffie-Hellman parameters. Node's defaults also
 * allow CBC, CCM and ARIA.
 */
const CIPHERS = ["ECDSA", "RSA"].flatMap((kind) =>
  ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].map(
    (cipher) => `ECDHE-${kind}-${cipher}`,
  ),
);
const CIPHERS_OF_TLS_1_3 = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];
/** The first one, which is also safe from quantum computers, requires OpenSSL 3.5. */
const CURVES = [...["X25519MLKEM768"].filter(isKnown), "X25519", "P-256", "P-384"];

function isKnown(ecdhCurve: string): boolean {
  try {
    createSecureContext({ ecdhCurve });
    return true;
  } catch {
    return false;
  }
}

function secure({ cert, key }: { readonly cert: string; readonly key: string }) {
  return {
    cert,
    key,
    minVersion: "TLSv1.2",
    ciphers: [...CIPHERS_OF_TLS_1_3, ...CIPHERS].join(":"),
    ecdhCurve: CURVES.join(":"),
  } as const;
}

async function listen(server: Server, { host, port }: ServerSettings): Promise<number> {
  try {
    return await listenOn(server, { host, port, reusePort: true }, "ingest");
  } catch (error) {
    const { cause } = error as { readonly cause: { readonly code?: unknown } };
    if (cause.code !== "ENOTSUP") throw error;
    return await listenOn(server, { host, port }, "ingest");
  }
}

function isOfStage(asked: Asked): asked is AskedOfStage {
  return asked.kind === "calls" || asked.kind === "settings" || asked.kind === "rejected";
}

function answerAtOnce({ kind }: Exclude<Asked, AskedOfStage>, isLeaving: boolean): Answer {
  if (kind === "health") return isLeaving ? failure("stopping", null, 1) : SUCCESS;
  return kind === "options" ? SUCCESS : failure(kind);
}

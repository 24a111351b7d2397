/** Sends responses and their CORS headers, even to requests that are still arriving and to input that is not a request. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type ANSWERS, type Answer, bodyOf, failure, statusOf } from "./responses.ts";

/** How long the rest of a request is read after the response, so that the client has time to read the response. */
const LINGER_MS = 1_000;

/** A transparent image of one pixel. */
const PIXEL = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
/**
 * If at most this many bytes of a body are left after an early response, they are read, and the connection is kept
 * open.
 */
const REST_MAX_BYTES = 65_536;

/** @param form the form of the response. If it is an image, only its status shows a failure. */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  form: "json" | "image" = "json",
): void {
  const body = form === "image" ? PIXEL : Buffer.from(bodyOf(answer));
  const isEarly = !request.complete && hasBody(request) && !isShort(request);
  if (answer.kind === "failure" && answer.retryAfterS !== null) {
    response.setHeader("retry-after", answer.retryAfterS);
  }
  if (answer.kind === "document" || form === "image")
    response.setHeader("cache-control", "no-store");
  if (isEarly) response.setHeader("connection", "close");
  response.writeHead(statusOf(answer), {
    "content-type": form === "image" ? "image/gif" : "application/json",
    "content-length": body.length,
  });
  if (!isEarly) {
    // Node itself reads the rest of a short body.
    response.end(body);
    return;
  }
  // Ending the response would close the connection. A client that is still sending would notice the closed
  // connection before it has read the response.
  response.write(body);
  const limit = setTimeout(() => response.end(), LINGER_MS);
  request.once("close", () => {
    clearTimeout(limit);
    response.end();
  });
  request.resume();
}

function isShort({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= REST_MAX_BYTES;
}

/**
 * Node does not mark a request without a body as complete before it has been handled, so this function checks the
 * headers.
 */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** The responses of each connection that have not been sent yet. */
const unanswered = new WeakMap<Socket, Set<ServerResponse>>();

export function note(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  const open = unanswered.get(socket) ?? new Set();
  unanswered.set(socket, open.add(response));
  response.once("close", () => open.delete(response));
}

export function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  const open = [...(unanswered.get(socket) ?? [])];
  // The client must not mistake the response to the malformed request for the response to an earlier one.
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

/**
 * Builds the CORS headers, which allow pages from other origins to send calls.
 *
 *   corsOrigins       a page of such an origin        any other page
 *   empty             -                               no header: the browser blocks the request
 *   lists origins     that origin                     no header
 *   contains `*`      `*`                             -
 *
 * `https://*.example.com` matches subdomains at any depth. `null` is the origin of pages that were opened from
 * files.
 *
 * Credentials are never allowed: pages send the write key without them, and cookies are ignored.
 */
type Headers = readonly (readonly [name: string, value: string])[];

/** Returns the headers that allow a page from an allowed origin to read the response and to send further requests. */
export function corsHeaders(
  origins: ReadonlySet<string>,
  origin: string | undefined,
  requestHeaders: string | undefined,
): Headers {
  if (origins.size === 0) return [];
  const isAny = origins.has("*");
  // Caches must not serve a response for one origin to a page from another origin.
  const vary: Headers = isAny ? [] : [["vary", "origin"]];
  if (origin === undefined || !(isAny || isAmong(origins, origin))) return vary;
  return [
    ...vary,
    ["access-control-allow-origin", isAny ? "*" : origin],
    ["access-control-allow-methods", "POST, GET, OPTIONS"],
    ["access-control-allow-headers", allowed(requestHeaders)],
    ["access-control-expose-headers", "retry-after"],
    ["access-control-max-age", "86400"],
  ];
}

/**
 * As in the settings (`config/ingest-settings.ts`), the host may contain any character that the host of a URL may
 * contain.
 */
const WEB_ORIGIN = /^(https?:\/\/)([^\s./?#@:[\]\\][^\s/?#@:[\]\\]*(?::\d{1,5})?)$/;
/** A host has at most 253 characters, and therefore at most 127 dots. */
const ORIGIN_CHARACTERS_MAX = 270;

function isAmong(origins: ReadonlySet<string>, origin: string): boolean {
  if (origins.has(origin)) return true;
  if (origin.length > ORIGIN_CHARACTERS_MAX) return false;
  const [, scheme, rest = ""] = WEB_ORIGIN.exec(origin) ?? [];
  for (let dot = rest.indexOf("."); dot !== -1; dot = rest.indexOf(".", dot + 1)) {
    if (origins.has(`${scheme}*${rest.slice(dot)}`)) return true;
  }
  return false;
}

const ALWAYS = "authorization, content-type, content-encoding";

/** Libraries send additional headers, such as `AnonymousId`. These headers are allowed and ignored. */
function allowed(asked: string | undefined): string {
  const isList = asked !== undefined && /^[\w-]{1,60}(, ?[\w-]{1,60}){0,19}$/.test(asked);
  return isList ? asked : ALWAYS;
}

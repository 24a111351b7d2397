/**
 * Decides what a request may do. A connection alone proves nothing, because a page from another site can make the
 * user's browser send a request.
 *
 *   request                                                  response
 *   names a host other than this machine, and no token is    421: a foreign name resolves to this machine
 *     configured                                             (DNS rebinding)
 *   changes something, and lacks the header or comes from    403: another site may have made the
 *     another origin                                         browser send it
 *   is for documents, scripts or styles                      the file, which is the same for everybody
 *   signs in                                                 204 with the cookie, or 401 after a delay
 *   has neither the bearer token nor a valid cookie, or a    401, after a delay if the bearer token is wrong
 *     cookie with which a user has signed out here
 *   is an action, and the console is read-only               403
 *   otherwise                                                the response
 */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/**
 * A page from another origin can add this header only after a preflight request, and preflight requests are never
 * granted.
 */
const ACTION_HEADER = "x-switchyard-console";
export const COOKIE = "switchyard_console";
const SESSION_MS = 12 * 3_600_000;
const FORWARDED_MAX = 200;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/;

export interface AccessRules {
  /**
   * Null if no token is required. In this case, the console listens only on this machine, and everybody who can
   * connect may read.
   */
  readonly token: string | null;
  readonly readOnly: boolean;
}

export interface AccessRequest {
  readonly method: string;
  readonly kind: "page" | "session" | "data" | "action";
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export type Access =
  | { readonly kind: "allowed"; readonly isKnown: boolean }
  | { readonly kind: "rejected"; readonly status: 401 | 403 | 421; readonly why: string };

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.toLowerCase());
}

/** The sessions that users have ended in this process. */
export type EndedSessions = ReadonlyMap<string, unknown>;

export function accessOf(
  asked: AccessRequest,
  rules: AccessRules,
  nowMs: number,
  ended: EndedSessions = new Map(),
): Access {
  const { method, kind, headers } = asked;
  const host = text(headers.host);
  if (rules.token === null && !isLoopback(hostname(host))) {
    return rejected(
      421,
      "Without a token, this console can be opened only at the address localhost.",
    );
  }
  const changes = method !== "GET" && method !== "HEAD";
  if (changes && !isOwn(headers, host)) {
    return rejected(403, "Only the console's own pages may send this request.");
  }
  const isKnown = rules.token === null || knows(rules.token, headers, nowMs, ended);
  if (kind === "page" || kind === "session") return { kind: "allowed", isKnown };
  if (!isKnown) return rejected(401, "Sign in first, or send the token as a bearer token.");
  if (kind === "action" && rules.readOnly) {
    return rejected(403, "This console is read-only: console.readOnly is true.");
  }
  return { kind: "allowed", isKnown };
}

/** The sender of an action, for the log. */
export interface Sender {
  /** How the sender was authenticated: by token, by session, or not at all. */
  readonly by: string;
  /** The sender's address, or that of the proxy. */
  readonly from: string;
  /** The sender's address as the proxy reports it. */
  readonly forwardedFor?: string;
}

export function senderOf(
  headers: AccessRequest["headers"],
  { token }: Pick<AccessRules, "token">,
  address: string,
): Sender {
  const by = headers.authorization !== undefined ? "token" : "session";
  const forwardedFor = text(headers["x-forwarded-for"]).slice(0, FORWARDED_MAX);
  return {
    by: token === null ? "no token required" : by,
    from: address,
    ...(forwardedFor === "" ? {} : { forwardedFor }),
  };
}

/** Compares in constant time, so that the time does not reveal the token. */
export function isToken(given: string, token: string): boolean {
  const digest = (value: string) => createHash("sha256").update(value).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/**
 * Creates a session cookie. The cookie does not contain the token, but changing the token ends all sessions.
 *
 * @param headers of the request, in which proxies say whether the client used HTTPS; the first of them speaks first.
 * @param id distinguishes sessions that end at the same second: hex digits.
 */
export function sessionCookie(
  token: string,
  nowMs: number,
  headers: AccessRequest["headers"],
  id: string,
): string {
  const [proto = ""] = text(headers["x-forwarded-proto"]).split(",");
  const isSecure = proto.trim().toLowerCase() === "https";
  const ends = `${Math.floor((nowMs + SESSION_MS) / 1_000)}.${id}`;
  const flags = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1_000}`;
  return `${COOKIE}=${ends}.${seal(token, ends)}; ${flags}${isSecure ? "; Secure" : ""}`;
}

export const ENDED_COOKIE = `${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function knows(
  token: string,
  headers: AccessRequest["headers"],
  nowMs: number,
  ended: EndedSessions,
): boolean {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(text(headers.authorization)) ?? [];
  if (bearer !== undefined) return isToken(bearer, token);
  return sessionOf(token, headers, nowMs, ended) !== null;
}

/** The session of a request, which is the value of its cookie; null if it has none. */
export function sessionOf(
  token: string,
  headers: AccessRequest["headers"],
  nowMs: number,
  ended: EndedSessions,
): string | null {
  for (const pair of text(headers.cookie).split(";")) {
    const [name, value = ""] = pair.trim().split("=", 2);
    const [, ends = "", sealed] = /^(\d{1,12}\.[\da-f]{1,32})\.([\da-f]{64})$/.exec(value) ?? [];
    if (name !== COOKIE || sealed === undefined || ended.has(value)) continue;
    if (Number.parseInt(ends, 10) * 1_000 > nowMs && isToken(sealed, seal(token, ends)))
      return value;
  }
  return null;
}

function seal(token: string, ends: string): string {
  return createHmac("sha256", token).update(`switchyard console ${ends}`).digest("hex");
}

/** Returns true if the request comes from this origin, or was not sent by a browser. */
function isOwn(headers: AccessRequest["headers"], host: string): boolean {
  if (text(headers[ACTION_HEADER]) !== "1") return false;
  // The browser computes `Sec-Fetch-Site` from the addresses that it uses itself, so a proxy that sends another
  // `Host` does not affect it.
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  if (headers.origin === undefined) return true;
  const origin = text(headers.origin);
  return URL.canParse(origin) && new URL(origin).host === host;
}

function hostname(host: string): string {
  return host.replace(/:\d{1,5}$/, "");
}

function text(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : "";
}

function rejected(status: 401 | 403 | 421, why: string): Access {
  return { kind: "rejected", status, why };
}

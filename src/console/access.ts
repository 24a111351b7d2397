/**
 * The rights of a request. A browser may be on somebody else's page when it asks: nothing is told, and
 * nothing is done, because of where it can connect to.
 *
 *   the request                                              answer
 *   without a token configured, names another host than      421: a name of somebody else's leads
 *     this machine                                           here (DNS rebinding)
 *   wants to change something, and lacks the header, or      403: another page made the browser
 *     comes from another origin                              send it
 *   is for the page itself: documents, scripts, styles       it; they are the same for everybody
 *   logs in                                                  204 with the cookie, or 401
 *   has neither the bearer token nor a cookie that holds     401
 *   wants an action, and the page is read-only               403
 *   otherwise                                                the answer
 */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** A page of another origin cannot add it without being asked first, and nobody answers that. */
const ACTION_HEADER = "x-switchyard-console";
export const COOKIE = "switchyard_console";
const SESSION_MS = 12 * 3_600_000;
const FORWARDED_MAX = 200;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/;

export interface AccessRules {
  /** Null: everybody who reaches it may look. It listens on this machine alone then. */
  readonly token: string | null;
  readonly readOnly: boolean;
}

export interface Asked {
  readonly method: string;
  readonly kind: "page" | "session" | "data" | "action";
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export type Access =
  | { readonly kind: "allowed"; readonly isKnown: boolean }
  | { readonly kind: "refused"; readonly status: 401 | 403 | 421; readonly why: string };

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.toLowerCase());
}

export function accessOf(asked: Asked, rules: AccessRules, nowMs: number): Access {
  const { method, kind, headers } = asked;
  const host = text(headers.host);
  if (rules.token === null && !isLoopback(hostname(host))) {
    return refused(421, "Without a token this page answers as localhost alone.");
  }
  const changes = method !== "GET" && method !== "HEAD";
  if (changes && !isOwn(headers, host)) {
    return refused(403, "Only this page itself may send this.");
  }
  const isKnown = rules.token === null || knows(rules.token, headers, nowMs);
  if (kind === "page" || kind === "session") return { kind: "allowed", isKnown };
  if (!isKnown) return refused(401, "Log in first, or send the token as a bearer token.");
  if (kind === "action" && rules.readOnly) {
    return refused(403, "This page is read-only: console.readOnly is true.");
  }
  return { kind: "allowed", isKnown };
}

/** The sender of an action, as far as it is known: for the log. */
export interface Sender {
  /** How it was let in: token, session, or nobody is asked. */
  readonly by: string;
  /** Its address; that of a proxy, where one is before the page. */
  readonly from: string;
  /** Told by the proxy, and as true as it is. */
  readonly forwardedFor?: string;
}

export function senderOf(
  headers: Asked["headers"],
  { token }: Pick<AccessRules, "token">,
  address: string,
): Sender {
  const by = headers.authorization !== undefined ? "token" : "session";
  const told = text(headers["x-forwarded-for"]).slice(0, FORWARDED_MAX);
  return {
    by: token === null ? "nobody is asked" : by,
    from: address,
    ...(told === "" ? {} : { forwardedFor: told }),
  };
}

/** Compared in a time that tells nothing of the token. */
export function isToken(given: string, token: string): boolean {
  const digest = (value: string) => createHash("sha256").update(value).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** The token itself stays out of the browser. Another token ends all sessions. */
export function sessionCookie(token: string, nowMs: number, isSecure: boolean): string {
  const ends = Math.floor((nowMs + SESSION_MS) / 1_000);
  const flags = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1_000}`;
  return `${COOKIE}=${ends}.${seal(token, ends)}; ${flags}${isSecure ? "; Secure" : ""}`;
}

export const ENDED_COOKIE = `${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function knows(token: string, headers: Asked["headers"], nowMs: number): boolean {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(text(headers.authorization)) ?? [];
  if (bearer !== undefined) return isToken(bearer, token);
  for (const pair of text(headers.cookie).split(";")) {
    const [name, value = ""] = pair.trim().split("=", 2);
    const [, ends, sealed] = /^(\d{1,12})\.([\da-f]{64})$/.exec(value) ?? [];
    if (name !== COOKIE || ends === undefined || sealed === undefined) continue;
    if (Number(ends) * 1_000 > nowMs && isToken(sealed, seal(token, Number(ends)))) return true;
  }
  return false;
}

function seal(token: string, ends: number): string {
  return createHmac("sha256", token).update(`switchyard console ${ends}`).digest("hex");
}

/** Sent by a page of this very origin, or by no browser at all. */
function isOwn(headers: Asked["headers"], host: string): boolean {
  if (text(headers[ACTION_HEADER]) !== "1") return false;
  // The browser compares the addresses that it sees, also where a proxy sends another `Host`.
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

function refused(status: 401 | 403 | 421, why: string): Access {
  return { kind: "refused", status, why };
}

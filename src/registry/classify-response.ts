/**
 * Interprets a registry's response. A response counts only if it cannot come from a proxy, a login page or a wrong
 * path. The error of any other response names what to check (docs/registry.md#outcomes).
 *
 *   response                                           result
 *   200, a JSON object with the string `schema`        found
 *   200 as JSON, larger than 1 MiB                     unusable
 *   404 as JSON, with error_code 40401 to 40403        unknown
 *   any other 404                                      unavailable: not a registry
 *   any other 200, such as HTML                        unavailable: not a registry
 *   200 with references that cannot be read            unavailable: not a registry
 *   3xx                                                unavailable: redirected
 *   401; 407                                           outage: credentials; a proxy's credentials
 *   403                                                unavailable: permissions
 *   429                                                outage: too many requests
 *   5xx                                                unavailable: the registry itself failed
 *   any other status                                   unavailable: not a registry
 *   none: name, connection, TLS, timeout               unavailable, with a separate error for each
 *   none: no token                                     outage, with the token endpoint's error
 *
 * `unavailable` can concern a single schema or all of them: `client.ts` finds out which.
 */

import { jsonObjectIn } from "../domain/json.ts";
import type { Exchanged } from "./registry-request.ts";

export interface Reference {
  /** The name of the reference in the schema that uses it. */
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

export type Classified =
  | {
      readonly kind: "found";
      readonly type: string;
      readonly text: string;
      readonly references: readonly Reference[];
    }
  | {
      readonly kind: "unknown" | "unusable" | "unavailable" | "outage";
      readonly error: string;
    };

/** Registries omit the type for Avro, because Avro was the first type. */
const TYPE_DEFAULT = "AVRO";
/** The codes for a subject, version or schema that does not exist. If a path does not exist, the code is 404. */
const UNKNOWN_CODES: readonly unknown[] = [40_401, 40_402, 40_403];
/** Statuses that never depend on the schema that was requested. */
const OUTAGE_STATUSES: readonly unknown[] = [401, 407, 429];

/** @param what what was looked up, such as `schema 7`. */
export function classifySchema(exchanged: Exchanged, url: string, what: string): Classified {
  const { origin } = new URL(url);
  if (exchanged.kind === "too-large" && exchanged.status === 200 && isJson(exchanged.contentType)) {
    return { kind: "unusable", error: `${what} is larger than 1 MiB, the maximum` };
  }
  if (exchanged.kind === "response") {
    const { status } = exchanged;
    const body = jsonObjectIn(exchanged.body);
    if (status === 404 && UNKNOWN_CODES.includes(body?.error_code)) {
      return { kind: "unknown", error: `the schema registry does not have ${what}` };
    }
    const schema = status === 200 && body !== null ? readSchema(body) : null;
    if (schema !== null) return { kind: "found", ...schema };
  }
  const status = exchanged.kind === "response" ? exchanged.status : null;
  const isOutage = exchanged.kind === "no-token" || OUTAGE_STATUSES.includes(status);
  const kind = isOutage ? "outage" : "unavailable";
  return { kind, error: `${origin} ${failureText(exchanged)}` };
}

/** Returns the second part of a sentence that starts with the registry's address. */
export function failureText(exchanged: Exchanged): string {
  if (exchanged.kind === "no-token") return `was not queried: ${exchanged.error}`;
  if (exchanged.kind === "timeout") {
    return "did not respond within 5 s; check that it runs, and that no firewall drops packets to it";
  }
  if (exchanged.kind === "failed") return failureTextOfCode(exchanged.code);
  return failureTextOfStatus(exchanged.status, exchanged.contentType);
}

const BY_STATUS: Readonly<Record<number, string>> = {
  401: "rejects the credentials (401); check registry.username and password, token or oauth",
  403: "forbids the lookup (403); check that the credentials have permission to read subjects and schemas",
  404: "responds 404 without a registry's error code; check the path in registry.url",
  407: "is behind a proxy that requires authentication (407); use a URL without the proxy",
  429: "rejects requests because there are too many (429); check its rate limit",
};

function failureTextOfStatus(status: number, contentType: string): string {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status === 200) {
    const type = shownType(contentType);
    return `responds with ${type}, not with a schema; check registry.url: it may lead to a proxy or a login page`;
  }
  if (status >= 300 && status < 400) {
    return `redirects (${status}), which is not followed; use the URL that it redirects to`;
  }
  if (status >= 500) {
    return `responds ${status}; the registry is still starting, or the registry or a proxy in front of it has failed: check their logs`;
  }
  return `responds ${status}, a status that no schema registry uses; check registry.url`;
}

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses connections; check registry.url, and that the registry is running",
  ENOTFOUND: "has a host name that is not found; check registry.url and the name server",
  EAI_AGAIN: "has a host name for which the name server does not respond; check the name server",
  ECONNRESET: "closed the connection before its response was complete; check its log",
  EPIPE: "closed the connection before its response was complete; check its log",
  UND_ERR_SOCKET: "closed the connection before its response was complete; check its log",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH:
    "closed the connection before its response was complete; check its log",
  UND_ERR_ABORTED: "did not respond before the request was canceled",
  ETIMEDOUT: "did not accept a connection; check that no firewall drops packets to it",
  EHOSTUNREACH: "cannot be reached; check the network",
  ENETUNREACH: "cannot be reached; check the network",
  CERT_HAS_EXPIRED: "presents a certificate that has expired; renew it",
  CERT_NOT_YET_VALID: "presents a certificate that is not valid yet; check both clocks",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "presents a certificate for another host; check the host in registry.url",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "presents a self-signed certificate that is not trusted; set registry.tls.ca to its CA",
  SELF_SIGNED_CERT_IN_CHAIN:
    "presents a certificate from a CA that is not trusted; set registry.tls.ca to that CA",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "presents a certificate from a CA that is not trusted; set registry.tls.ca to that CA",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "presents a certificate from a CA that is not trusted; set registry.tls.ca to that CA",
  EPROTO: "does not use TLS on this port; check http or https in registry.url, and the port",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "does not use TLS on this port; check http or https in registry.url, and the port",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    "requires a client certificate; set registry.tls.cert and key",
};
/** Matches error codes about TLS; OpenSSL and Node have a hundred of them. */
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_)/;

function failureTextOfCode(code: string | null): string {
  const known = code === null ? undefined : BY_CODE[code];
  if (known !== undefined) return known;
  if (code !== null && TLS_CODE.test(code)) {
    return `fails the TLS handshake (${code}); check its certificate and registry.tls`;
  }
  if (code?.startsWith("HPE_"))
    return "does not use HTTP on this port; check the port in registry.url";
  return `did not respond (${code ?? "no code"}); check registry.url and its log`;
}

/** Shortens and escapes the header, because it may contain anything. */
function shownType(contentType: string): string {
  return /^[\w.+-]{1,40}\/[\w.+-]{1,60}/.exec(contentType)?.[0] ?? "something";
}

function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(contentType);
}

function readSchema(body: Readonly<Record<string, unknown>>) {
  const { schema: text, schemaType: type = TYPE_DEFAULT, references = [] } = body;
  if (typeof text !== "string" || typeof type !== "string" || !Array.isArray(references))
    return null;
  const read = references.flatMap((each: unknown) => readReference(each) ?? []);
  return read.length === references.length ? { type, text, references: read } : null;
}

function readReference(each: unknown): Reference | null {
  if (typeof each !== "object" || each === null) return null;
  const { name, subject, version } = { name: null, subject: null, version: null, ...each };
  const isOne = typeof name === "string" && typeof subject === "string";
  return isOne && typeof version === "number" ? { name, subject, version } : null;
}

/**
 * The meaning of a registry's answer. Only an answer that no proxy, login page or wrong path gives by
 * chance is taken for one; all else is an outage, and says what to check (docs/registry.md#outcomes).
 *
 *   what came                                          comes to
 *   200, a JSON object with the text `schema`          found
 *   200 as JSON, larger than 1 MiB                     unusable
 *   404 as JSON, with error_code 40401 to 40403        unknown
 *   404, anything else                                 outage: no registry there
 *   200, anything else, such as HTML                   outage: no registry there
 *   200 with references that cannot be read            outage: no registry there
 *   3xx                                                outage: redirected
 *   401; 403                                           outage: the login; its rights
 *   429                                                outage: too many requests
 *   5xx                                                outage: the registry's own
 *   any other status                                   outage: no registry there
 *   no answer: name, connection, TLS, silence          outage, each by name
 *   no token                                           outage, the token endpoint's sentence
 */

import { jsonObjectIn } from "../domain/json.ts";
import type { Exchanged } from "./registry-request.ts";

export interface Reference {
  /** As the schema that uses it names it. */
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
  | { readonly kind: "unknown" | "unusable" | "outage"; readonly error: string };

/** Registries leave it out for Avro, which was there first. */
const TYPE_DEFAULT = "AVRO";
/** Subject, version and schema not found. A path that is none has 404 as its code. */
const UNKNOWN_CODES: readonly unknown[] = [40_401, 40_402, 40_403];

/** @param what was looked up, such as `schema 7`. */
export function classifySchema(exchanged: Exchanged, url: string, what: string): Classified {
  const { origin } = new URL(url);
  if (exchanged.kind === "too-large" && exchanged.status === 200 && isJson(exchanged.contentType)) {
    return { kind: "unusable", error: `${what} is larger than 1 MiB, which is not read` };
  }
  if (exchanged.kind === "response") {
    const { status } = exchanged;
    const body = jsonObjectIn(exchanged.body);
    if (status === 404 && UNKNOWN_CODES.includes(body?.error_code)) {
      return { kind: "unknown", error: `the schema registry does not know ${what}` };
    }
    const schema = status === 200 && body !== null ? readSchema(body) : null;
    if (schema !== null) return { kind: "found", ...schema };
  }
  return { kind: "outage", error: `${origin} ${failureText(exchanged)}` };
}

/** The rest of a sentence that begins with the registry's address. */
export function failureText(exchanged: Exchanged): string {
  if (exchanged.kind === "no-token") return `was not asked: ${exchanged.error}`;
  if (exchanged.kind === "timeout") {
    return "did not answer within 5 s; check that it runs, and that no firewall drops packets to it";
  }
  if (exchanged.kind === "failed") return failureTextOfCode(exchanged.code);
  return failureTextOfStatus(exchanged.status, exchanged.contentType);
}

const BY_STATUS: Readonly<Record<number, string>> = {
  401: "does not accept the login (401); check registry.username and password, token or oauth",
  403: "forbids the look-up (403); check the rights of the login, which has to read subjects and schemas",
  404: "answers 404 without a registry's error code; check the path in registry.url",
  407: "stands behind a proxy that wants a login (407); give a URL without the proxy",
  429: "takes no more requests for now (429); check its rate limit",
};

function failureTextOfStatus(status: number, contentType: string): string {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status === 200) {
    const type = shownType(contentType);
    return `answers with ${type}, not with a schema; check registry.url: a proxy or a login page may stand there`;
  }
  if (status >= 300 && status < 400) {
    return `redirects (${status}), which is not followed; give the URL that it leads to`;
  }
  if (status >= 500) {
    return `answers ${status}; it is starting, or it or what stands before it has a fault: look at its log`;
  }
  return `answers ${status}, as no registry does; check registry.url`;
}

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses connections; check registry.url, and that the registry runs",
  ENOTFOUND: "has a host name that is not found; check registry.url and the name server",
  EAI_AGAIN: "has a host name that the name server does not answer for; check the name server",
  ECONNRESET: "closed the connection before its answer was whole; look at its log",
  EPIPE: "closed the connection before its answer was whole; look at its log",
  UND_ERR_SOCKET: "closed the connection before its answer was whole; look at its log",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH:
    "closed the connection before its answer was whole; look at its log",
  UND_ERR_ABORTED: "was not waited for",
  ETIMEDOUT: "did not answer a connection; check that no firewall drops packets to it",
  EHOSTUNREACH: "cannot be reached; check the network",
  ENETUNREACH: "cannot be reached; check the network",
  CERT_HAS_EXPIRED: "shows a certificate that has expired; renew it",
  CERT_NOT_YET_VALID: "shows a certificate that is not valid yet; check both clocks",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "shows a certificate of another host; check the host in registry.url",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "shows a certificate that nothing here trusts; name its CA in registry.tls.ca",
  SELF_SIGNED_CERT_IN_CHAIN:
    "shows a certificate of a CA that is not trusted; name it in registry.tls.ca",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "shows a certificate of a CA that is not trusted; name it in registry.tls.ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "shows a certificate of a CA that is not trusted; name it in registry.tls.ca",
  EPROTO: "does not speak TLS there; check http or https in registry.url, and the port",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "does not speak TLS there; check http or https in registry.url, and the port",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    "wants a certificate of ours; name it in registry.tls.cert and key",
};
/** OpenSSL and Node have a hundred of them. */
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_)/;

function failureTextOfCode(code: string | null): string {
  const known = code === null ? undefined : BY_CODE[code];
  if (known !== undefined) return known;
  if (code !== null && TLS_CODE.test(code)) {
    return `cannot be spoken to by TLS (${code}); check its certificate and registry.tls`;
  }
  if (code?.startsWith("HPE_")) return "does not speak HTTP there; check the port in registry.url";
  return `gave no answer (${code ?? "no code"}); check registry.url and its log`;
}

/** The header may hold anything. */
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

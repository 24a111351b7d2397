/**
 * Sends one request to a registry, and returns every possible result as a value. Redirects are not followed, and
 * requests are not repeated. `classify-response.ts` interprets the result.
 *
 *   bound                      limit
 *   the whole exchange         5 s, including a token if one is needed
 *   bytes of a response        1 MiB
 *   connections                8 per URL, each used for one request only, because lookups are rare
 */

import type { LookupFunction } from "node:net";
import { Agent, errors, request } from "undici";

import { boundedResolve, systemResolve } from "../base/http/lookup.ts";
import { secureContext } from "../base/http/tls.ts";
import { systemClock } from "../base/runtime/clock.ts";
import { TokenError, tokenSource } from "../base/runtime/oauth-token.ts";
import {
  type RequestCredentials,
  requestCredentials,
} from "../base/runtime/request-credentials.ts";
import type { RegistryConnection } from "./port.ts";

export const RESPONSE_MAX_BYTES = 1_048_576;
export const EXCHANGE_LIMIT_MS = 5_000;
const CONNECTIONS = 8;
const ADDRESS_PATIENCE_MS = 1_000;
const NO_TOKEN_IN_TIME =
  "no token was received within 5 s; check registry.oauth.tokenUrl, and that its server responds";
const CONTENT_TYPE = "application/vnd.schemaregistry.v1+json";

export interface RegistryRequest {
  readonly method: "GET" | "POST" | "PUT";
  /** The registry's URL and the path below it. */
  readonly url: string;
  /** Sent as JSON; if absent, the request has no body. */
  readonly body?: unknown;
}

export type Exchanged =
  | {
      readonly kind: "response";
      readonly status: number;
      /** Empty if the response has no content type. */
      readonly contentType: string;
      readonly body: string;
    }
  /** The response has more bytes than the limit. */
  | { readonly kind: "too-large"; readonly status: number; readonly contentType: string }
  /** There was no complete response. `code` is from Node, OpenSSL or undici; null if there is none. */
  | { readonly kind: "failed"; readonly code: string | null }
  | { readonly kind: "timeout" }
  /** The token endpoint failed, so no request was sent to the registry. `error` is one sentence. */
  | { readonly kind: "no-token"; readonly error: string };

/** Never throws. If the signal aborts, the result is `failed`. */
export type Exchange = (request: RegistryRequest, signal: AbortSignal) => Promise<Exchanged>;

export interface Exchanging extends AsyncDisposable {
  readonly exchange: Exchange;
  /** The headers that authenticate a request. Throws `TokenError`. */
  readonly authenticationHeaders: () => Promise<Record<string, string>>;
}

/** The caller closes it. */
export function createExchange({ authentication, tls }: RegistryConnection): Exchanging {
  const connect = {
    timeout: EXCHANGE_LIMIT_MS,
    lookup: boundedLookup(),
    // Node's default of 250 ms would be too short for distant addresses.
    autoSelectFamilyAttemptTimeout: ADDRESS_PATIENCE_MS,
    // This is set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
    maxCachedSessions: 0,
    secureContext: tls === null ? undefined : secureContext(tls),
  };
  // Connections are not kept alive, because using a connection that the registry has closed would look like an outage.
  const agent = new Agent({ connect, connections: CONNECTIONS, pipelining: 0, allowH2: false });
  const { lookup, secureContext: context } = connect;
  const credentials = authenticationHeaders(authentication, (credentialRequest) =>
    requestCredentials(credentialRequest, { lookup, ...(context && { secureContext: context }) }),
  );
  const exchange: Exchange = async ({ method, url, body }, signal) => {
    const limit = AbortSignal.timeout(EXCHANGE_LIMIT_MS);
    const ended = AbortSignal.any([signal, limit]);
    let hasToken = false;
    try {
      const authenticationHeaders = await unlessAborted(credentials.headers(), ended);
      hasToken = true;
      const response = await request(url, {
        dispatcher: agent,
        method,
        headers: {
          accept: `${CONTENT_TYPE}, application/json`,
          ...(body === undefined ? {} : { "content-type": CONTENT_TYPE }),
          ...authenticationHeaders,
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: ended,
      });
      const { statusCode: status } = response;
      if (status === 401) credentials.reject(authenticationHeaders);
      const named = response.headers["content-type"];
      const contentType = typeof named === "string" ? named : "";
      const bytes = await readBounded(response.body);
      return bytes === null
        ? { kind: "too-large", status, contentType }
        : { kind: "response", status, contentType, body: bytes.toString() };
    } catch (error) {
      if (error instanceof TokenError) return { kind: "no-token", error: error.message };
      if (limit.aborted && !signal.aborted) {
        return hasToken ? { kind: "timeout" } : { kind: "no-token", error: NO_TOKEN_IN_TIME };
      }
      return failure(error);
    }
  };
  return {
    exchange,
    authenticationHeaders: credentials.headers,
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/**
 * Returns a lookup that all requests share, because each separate lookup blocks one of Node's threads while the name
 * server is down.
 */
function boundedLookup(): LookupFunction {
  const resolve = boundedResolve(systemResolve, systemClock);
  return (hostname, options, callback) => {
    resolve(hostname, (error, found) => {
      const [first] = found;
      if (error !== null || first === undefined) {
        callback(error ?? new Error("the name has no address"), []);
      } else if (options.all === true) {
        callback(null, [...found]);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

/** Stops waiting when the signal aborts; the work itself continues. */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    work.catch(() => undefined);
  }
}

/** Reads a body up to the limit; null if it is longer, and the connection is then closed. */
async function readBounded(body: AsyncIterable<Buffer>): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > RESPONSE_MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function failure(error: unknown): Exchanged {
  const named = error instanceof Error && "code" in error ? error.code : null;
  // Only some errors of undici's parser have a code, but all of them have this class.
  const unnamed = error instanceof errors.HTTPParserError ? "HPE_" : null;
  const code = typeof named === "string" ? named : unnamed;
  if (code === "UND_ERR_CONNECT_TIMEOUT") return { kind: "timeout" };
  return { kind: "failed", code };
}

interface AuthenticationHeaders {
  /** Throws `TokenError`. */
  headers(): Promise<Record<string, string>>;
  /** Call when the registry rejected these headers, so that a new token is requested. */
  reject(headers: Readonly<Record<string, string>>): void;
}

function authenticationHeaders(
  authentication: RegistryConnection["authentication"],
  requestOf: RequestCredentials,
): AuthenticationHeaders {
  if (authentication?.kind !== "oauth") {
    const fixed = Promise.resolve(fixedHeaders(authentication));
    return { headers: () => fixed, reject: () => undefined };
  }
  const source = tokenSource(authentication, systemClock, requestOf);
  return {
    headers: async () => ({ authorization: `Bearer ${await source.token()}` }),
    reject: ({ authorization = "" }) => source.reject(authorization.slice("Bearer ".length)),
  };
}

function fixedHeaders(
  authentication: Exclude<RegistryConnection["authentication"], { readonly kind: "oauth" }>,
): Record<string, string> {
  if (authentication === null) return {};
  if (authentication.kind === "token") return { authorization: `Bearer ${authentication.token}` };
  const credentials = Buffer.from(`${authentication.username}:${authentication.password}`).toString(
    "base64",
  );
  return { authorization: `Basic ${credentials}` };
}

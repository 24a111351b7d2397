/**
 * Gets bearer tokens with the client credentials grant (RFC 6749 section 4.4): builds the token request, reads the
 * token from the response, and shares a token between several users. Kafka, the schema registry and webhook
 * destinations use these tokens.
 *
 *   the response                                          the token
 *   is not a 200, or not a JSON object                    none
 *   has an access_token that is empty, longer than        none
 *     64 KiB or not visible ASCII
 *   has any other access_token                            that access_token
 *
 *   its expires_in                                        its lifetime
 *   is absent, not a number or not positive               5 minutes
 *   is a number, or a string of digits                    that many seconds: at least 1, at most a day
 *
 *   the age of the token                                  a user gets
 *   is less than 4/5 of its lifetime                      that token
 *   is more, but less than its lifetime                   a new token; if it cannot wait, the old one
 *   is its lifetime or more, or negative because the      a new token
 *     clock was set back
 */

import { randomUUID } from "node:crypto";

import { ASSERTION_TYPE, clientAssertion } from "./client-assertion.ts";
import type { Clock } from "./clock.ts";

export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Null if `privateKey` replaces it. */
  readonly clientSecret: string | null;
  /** PEM of the key that signs an assertion (`client-assertion.ts`). */
  readonly privateKey?: string | null;
  readonly keyId?: string | null;
  /** Null if no scope is requested. */
  readonly scope: string | null;
  /** The part of the request that contains the ID and the secret; by default, the header. */
  readonly credentialsIn?: "header" | "body";
  /** Additional fields of the request, such as `audience`. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The part of the `fetch` function that is used. */
type TokenRequest = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Record<string, string>;
    readonly body: URLSearchParams;
    readonly signal: AbortSignal;
    readonly redirect: "manual";
  },
) => Promise<{ readonly status: number; text(): Promise<string> }>;

/** The token endpoint failed. This counts as an outage, so requests are repeated until one succeeds. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  /** kafkajs reads this property. */
  readonly retriable = true;
}

export type TokenResult =
  | { readonly kind: "token"; readonly token: string; readonly lifeMs: number }
  /** `why` is a part of a sentence, and contains no secret. */
  | { readonly kind: "none"; readonly why: string };

const REQUEST_LIMIT_MS = 8_000;
const LIFE_DEFAULT_S = 300;
const LIFE_MIN_S = 1;
const LIFE_MAX_S = 86_400;
const RENEWED_AT_SHARE = 0.8;
const TOKEN_MAX_BYTES = 65_536;
const TOKEN = /^[!-~]+$/;

/** The error codes of RFC 6749 and RFC 8707. Any other text could contain a secret. */
const ERRORS = [
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  "access_denied",
  "server_error",
  "temporarily_unavailable",
];

/**
 * The request's headers and form.
 *
 * @param id differs for each request.
 */
export function tokenRequest(
  credentials: ClientCredentials,
  nowMs: number,
  id: string = randomUUID(),
): {
  readonly headers: Record<string, string>;
  readonly form: URLSearchParams;
} {
  const { clientId, clientSecret, privateKey = null, keyId = null } = credentials;
  const { tokenUrl, scope, credentialsIn, parameters } = credentials;
  const form = new URLSearchParams({ grant_type: "client_credentials", ...parameters });
  if (scope !== null) form.set("scope", scope);
  const headers: Record<string, string> = { accept: "application/json" };
  if (privateKey !== null) {
    const asserted = { clientId, tokenUrl, privateKey, keyId };
    form.set("client_id", clientId);
    form.set("client_assertion_type", ASSERTION_TYPE);
    form.set("client_assertion", clientAssertion(asserted, nowMs, id));
  } else if (clientSecret !== null && credentialsIn === "body") {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  } else if (clientSecret !== null) {
    const pair = [clientId, clientSecret].map(encodeURIComponent).join(":");
    headers.authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
  }
  return { headers, form };
}

/** Reads the response of a token endpoint. Pure. */
export function readToken(status: number, text: string): TokenResult {
  const body = jsonMap(text);
  if (status !== 200) {
    const error = ERRORS.find((known) => known === body?.error);
    return { kind: "none", why: `status ${status}${error === undefined ? "" : `, ${error}`}` };
  }
  if (body === null) return { kind: "none", why: "status 200 without a JSON object" };
  const { access_token: token, expires_in: life } = body;
  if (typeof token !== "string" || token === "") {
    return { kind: "none", why: "status 200 without access_token" };
  }
  if (token.length > TOKEN_MAX_BYTES) {
    return { kind: "none", why: "its access_token is longer than 64 KiB" };
  }
  if (!TOKEN.test(token))
    return { kind: "none", why: "its access_token contains characters other than visible ASCII" };
  return { kind: "token", token, lifeMs: lifeSeconds(life) * 1_000 };
}

function lifeSeconds(given: unknown): number {
  const isDigits = typeof given === "string" && /^\d+(?:\.\d+)?$/.test(given);
  const seconds = isDigits ? Number(given) : given;
  if (typeof seconds !== "number" || !(seconds > 0)) return LIFE_DEFAULT_S;
  return Math.min(Math.max(seconds, LIFE_MIN_S), LIFE_MAX_S);
}

function jsonMap(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { ...value }
      : null;
  } catch {
    return null;
  }
}

/**
 * The text names only the host, because a path or query may contain a password. It does not quote the response, because
 * that may contain a token.
 */
export function noTokenText({ tokenUrl }: Pick<ClientCredentials, "tokenUrl">, why: string) {
  return `No token from ${new URL(tokenUrl).origin}: ${why}`;
}

/** A token that several users share. Only one request is in flight at a time. */
export class SharedToken {
  readonly #request: () => Promise<TokenResult>;
  readonly #nowMs: () => number;
  #current: { readonly token: string; readonly atMs: number; readonly lifeMs: number } | null =
    null;
  #inFlight: Promise<TokenResult> | null = null;

  /** @param request if this rejects, so does `renew`. */
  constructor(request: () => Promise<TokenResult>, nowMs: () => number) {
    this.#request = request;
    this.#nowMs = nowMs;
  }

  /** Returns null if there is no token, or its lifetime has ended. */
  current(): string | null {
    return this.#at(1);
  }

  /** Returns null if a new token is due. */
  fresh(): string | null {
    return this.#at(RENEWED_AT_SHARE);
  }

  /** Requests a token, or waits for the request in flight. */
  renew(): Promise<TokenResult> {
    this.#inFlight ??= this.#request()
      .then((result) => {
        if (result.kind === "token") this.#current = { ...result, atMs: this.#nowMs() };
        return result;
      })
      .finally(() => {
        this.#inFlight = null;
      });
    return this.#inFlight;
  }

  /** Drops this token, unless it has already been replaced. */
  drop(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  #at(share: number): string | null {
    if (this.#current === null) return null;
    const { token, atMs, lifeMs } = this.#current;
    const ageMs = this.#nowMs() - atMs;
    return ageMs >= 0 && ageMs < lifeMs * share ? token : null;
  }
}

/** Returns a function that returns a valid token, and requests one only if a new token is due. Throws `TokenError`. */
export function tokenSource(
  credentials: ClientCredentials,
  clock: Clock,
  request: TokenRequest = fetch,
): () => Promise<string> {
  const fetched = async (): Promise<TokenResult> => {
    const { headers, form } = tokenRequest(credentials, clock.nowMs());
    try {
      const response = await request(credentials.tokenUrl, {
        method: "POST",
        headers,
        body: form,
        signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
        redirect: "manual",
      });
      return readToken(response.status, await response.text());
    } catch (cause) {
      throw new TokenError(noTokenText(credentials, `${cause}`), { cause });
    }
  };
  const shared = new SharedToken(fetched, () => clock.nowMs());
  return async () => {
    const fresh = shared.fresh();
    if (fresh !== null) return fresh;
    const result = await shared.renew();
    if (result.kind === "token") return result.token;
    const check = "Check tokenUrl, clientId, clientSecret and scope.";
    throw new TokenError(`${noTokenText(credentials, result.why)}. ${check}`);
  };
}

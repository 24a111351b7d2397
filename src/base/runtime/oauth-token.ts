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
 *   the token                                             a user gets
 *   is younger than 4/5 of its lifetime                   that token
 *   is older, but its lifetime has not ended              a new token; if there is none, the old one
 *   was rejected by a server, and may be replaced         the same
 *   was rejected, and may not be replaced yet             that token
 *   has reached the end of its lifetime, or has a         a new token
 *     negative age because the clock was set back
 *
 *   a rejected token                                      may be replaced
 *   did not replace a rejected token                      immediately
 *   replaced a rejected token                             10 s after the client's last replacement, then 20 s, 40 s,
 *                                                         and so on up to 2 minutes; 10 minutes without a replacement
 *                                                         start this again
 *
 * After a response with `Retry-After`, no token is requested until that time, but for at most an hour. These waits hold
 * for all tokens that this process requests from one token endpoint with one client ID (`TokenPace`).
 */

import { randomUUID } from "node:crypto";

import { retryAfterMs } from "../../domain/retry-after.ts";
import { asError } from "./as-error.ts";
import { ASSERTION_TYPE, clientAssertion } from "./client-assertion.ts";
import type { Clock } from "./clock.ts";
import {
  CREDENTIAL_MAX_BYTES,
  type RequestCredentials,
  requestCredentials,
} from "./request-credentials.ts";

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

/** The token endpoint failed. This counts as an outage, so requests are repeated until one succeeds. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  readonly retriable = true;
}

export type TokenResult =
  | { readonly kind: "token"; readonly token: string; readonly lifeMs: number }
  /** `why` is a part of a sentence, and contains no secret. `waitMs` is from `Retry-After`. */
  | {
      readonly kind: "none";
      readonly why: string;
      readonly waitMs?: number | null;
      readonly cause?: unknown;
    };

const LIFE_DEFAULT_S = 300;
const LIFE_MIN_S = 1;
const LIFE_MAX_S = 86_400;
const RENEWED_AT_SHARE = 0.8;
const RETRY_AFTER_MAX_MS = 3_600_000;
const REPLACED_FIRST_WAIT_MS = 10_000;
const REPLACED_WAIT_MAX_MS = 120_000;
const REPLACED_FORGOTTEN_MS = 600_000;
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
    const parts = [clientId, clientSecret].map((part) => encodeURIComponent(part.toWellFormed()));
    headers.authorization = `Basic ${Buffer.from(parts.join(":")).toString("base64")}`;
  }
  return { headers, form };
}

/** Reads the response of a token endpoint. Pure. @param waitMs from `Retry-After`. */
export function readToken(status: number, text: string, waitMs?: number | null): TokenResult {
  const body = jsonMap(text);
  if (status !== 200) {
    const error = ERRORS.find((known) => known === body?.error);
    const why = `status ${status}${error === undefined ? "" : `, ${error}`}`;
    return { kind: "none", why, ...(waitMs === undefined ? {} : { waitMs }) };
  }
  if (body === null) return { kind: "none", why: "status 200 without a JSON object" };
  const { access_token: token, expires_in: life } = body;
  if (typeof token !== "string" || token === "") {
    return { kind: "none", why: "status 200 without access_token" };
  }
  if (token.length > CREDENTIAL_MAX_BYTES) {
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

/** When one client may request tokens from one token endpoint. The table at the top of this file describes the waits. */
export class TokenPace {
  #asked = { atMs: 0, waitMs: 0 };
  #replaced = { atMs: 0, times: 0 };

  /** The rest of the wait that `Retry-After` asked for. */
  waitMs(nowMs: number): number {
    const elapsedMs = nowMs - this.#asked.atMs;
    return elapsedMs < 0 ? 0 : Math.max(0, this.#asked.waitMs - elapsedMs);
  }

  wait(nowMs: number, waitMs: number): void {
    this.#asked = { atMs: nowMs, waitMs: Math.min(waitMs, RETRY_AFTER_MAX_MS) };
  }

  /** Returns true if a token that replaced a rejected one may be replaced, too. */
  mayReplace(nowMs: number): boolean {
    const { atMs, times } = this.#replaced;
    const waitMs = Math.min(REPLACED_WAIT_MAX_MS, REPLACED_FIRST_WAIT_MS * 2 ** (times - 1));
    return nowMs < atMs || nowMs - atMs >= waitMs;
  }

  replaced(nowMs: number): void {
    const { atMs, times } = this.#replaced;
    const isForgotten = nowMs - atMs >= REPLACED_FORGOTTEN_MS;
    this.#replaced = { atMs: nowMs, times: isForgotten ? 1 : times + 1 };
  }
}

const PACES = new Map<string, TokenPace>();

/** Returns the same pace for the same token endpoint and client ID, so a reload of the configuration ends no wait. */
export function paceOf(client: Pick<ClientCredentials, "tokenUrl" | "clientId">): TokenPace {
  const name = JSON.stringify([client.tokenUrl, client.clientId]);
  const pace = PACES.get(name) ?? new TokenPace();
  PACES.set(name, pace);
  return pace;
}

type CurrentToken = Extract<TokenResult, { kind: "token" }> & {
  readonly atMs: number;
  readonly isReplacement: boolean;
};

/** A token that several users share. Only one request is in flight at a time. */
export class SharedToken {
  readonly #request: () => Promise<TokenResult>;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #pace: () => TokenPace;
  #current: CurrentToken | null = null;
  #isRejected = false;
  #inFlight: Promise<TokenResult> | null = null;

  /** @param request does not reject. */
  constructor(
    request: () => Promise<TokenResult>,
    clock: Pick<Clock, "nowMs">,
    pace: () => TokenPace,
  ) {
    this.#request = request;
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Returns null if there is no token, or its lifetime has ended. */
  current(): string | null {
    return this.#at(1);
  }

  /** Returns null if a new token is due. */
  fresh(): string | null {
    return this.#mustBeReplaced() ? null : this.#at(RENEWED_AT_SHARE);
  }

  /** Requests a token, or waits for the request in flight. */
  renew(): Promise<TokenResult> {
    this.#inFlight ??= this.#renewed().finally(() => {
      this.#inFlight = null;
    });
    return this.#inFlight;
  }

  /** Notes that a server rejected this token. It stays in use until there is another one. */
  reject(token: string): void {
    if (this.#current?.token === token) this.#isRejected = true;
  }

  async #renewed(): Promise<TokenResult> {
    const pace = this.#pace();
    const startedAtMs = this.#clock.nowMs();
    if (pace.waitMs(startedAtMs) > 0) return { kind: "none", why: "it sent Retry-After" };
    const result = await this.#request();
    const atMs = this.#clock.nowMs();
    if (result.kind === "token") {
      this.#current = { ...result, atMs, isReplacement: this.#isRejected };
      if (this.#isRejected) pace.replaced(atMs);
      this.#isRejected = false;
    } else if (result.waitMs) {
      pace.wait(atMs, result.waitMs);
    }
    return result;
  }

  #mustBeReplaced(): boolean {
    if (!this.#isRejected || this.#current === null) return false;
    return !this.#current.isReplacement || this.#pace().mayReplace(this.#clock.nowMs());
  }

  #at(share: number): string | null {
    if (this.#current === null) return null;
    const { token, atMs, lifeMs } = this.#current;
    const ageMs = this.#clock.nowMs() - atMs;
    return ageMs >= 0 && ageMs < lifeMs * share ? token : null;
  }
}

/**
 * `token` returns a valid token, and requests one only if a new token is due; it throws `TokenError`. Call `reject` when a
 * server rejected a token.
 */
export function tokenSource(
  credentials: ClientCredentials,
  clock: Clock,
  request: RequestCredentials = requestCredentials,
) {
  const requestToken = async (): Promise<TokenResult> => {
    const { headers, form } = tokenRequest(credentials, clock.nowMs());
    try {
      const { status, retryAfter, body } = await request({
        url: credentials.tokenUrl,
        method: "POST",
        headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
        body: form.toString(),
      });
      return readToken(status, body, retryAfterMs(retryAfter, clock.nowMs()));
    } catch (cause) {
      return { kind: "none", why: asError(cause).message, cause };
    }
  };
  const shared = new SharedToken(requestToken, clock, () => paceOf(credentials));
  const token = async (): Promise<string> => {
    const fresh = shared.fresh();
    if (fresh !== null) return fresh;
    const result = await shared.renew();
    if (result.kind === "token") return result.token;
    const current = shared.current();
    if (current !== null) return current;
    const check = "Check tokenUrl, clientId, clientSecret and scope.";
    const { why, cause } = result;
    throw new TokenError(`${noTokenText(credentials, why)}. ${check}`, { cause });
  };
  return { token, reject: (rejected: string) => shared.reject(rejected) };
}

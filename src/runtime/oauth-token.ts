/**
 * Bearer tokens by the client credentials grant (RFC 6749 section 4.4), shared by all connections
 * and fetched again after four fifths of their life.
 */

import type { Clock } from "./clock.ts";

export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Null: no scope is requested. */
  readonly scope: string | null;
}

/** The part of `fetch` that is used. */
type TokenRequest = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Record<string, string>;
    readonly body: URLSearchParams;
    readonly signal: AbortSignal;
  },
) => Promise<{ readonly status: number; json(): Promise<unknown> }>;

/** The token endpoint failed. Counts as an outage: requests are repeated until one succeeds. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  /** Read by kafkajs. */
  readonly retriable = true;
}

const REQUEST_LIMIT_MS = 8_000;
/** Lifetime for responses without `expires_in`. */
const LIFE_DEFAULT_S = 300;

/** Returns a valid token, from a request only if the previous token has expired. Throws `TokenError`. */
export function tokenSource(
  credentials: ClientCredentials,
  clock: Clock,
  request: TokenRequest = fetch,
): () => Promise<string> {
  let current: { readonly token: string; readonly atMs: number; readonly lifeMs: number } | null =
    null;
  let inFlight: Promise<string> | null = null;
  const renew = async (): Promise<string> => {
    const { token, lifeS } = await fetchToken(credentials, request);
    current = { token, atMs: clock.nowMs(), lifeMs: lifeS * 800 };
    return token;
  };
  return () => {
    // If the clock was set back, the age of the token is unknown.
    const ageMs = current === null ? -1 : clock.nowMs() - current.atMs;
    if (current !== null && ageMs >= 0 && ageMs < current.lifeMs) {
      return Promise.resolve(current.token);
    }
    inFlight ??= renew().finally(() => {
      inFlight = null;
    });
    return inFlight;
  };
}

async function fetchToken(
  { tokenUrl, clientId, clientSecret, scope }: ClientCredentials,
  request: TokenRequest,
): Promise<{ readonly token: string; readonly lifeS: number }> {
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (scope !== null) form.set("scope", scope);
  // Only the host is shown: a path or query may contain a password.
  const host = new URL(tokenUrl).origin;
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(":");
  let status: number;
  let body: unknown;
  try {
    const response = await request(tokenUrl, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
      body: form,
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
    });
    status = response.status;
    body = await response.json().catch(() => null);
  } catch (cause) {
    throw new TokenError(`No token from ${host}: ${cause}`, { cause });
  }
  const { access_token: token, expires_in: lifeS } = (body ?? {}) as Record<string, unknown>;
  if (status !== 200 || typeof token !== "string" || token === "") {
    // The body is not quoted, because it may contain a token.
    throw new TokenError(
      `No token from ${host}: status ${status}${status === 200 ? " without access_token" : ""}. Check tokenUrl, clientId, clientSecret and scope.`,
    );
  }
  return { token, lifeS: typeof lifeS === "number" && lifeS > 0 ? lifeS : LIFE_DEFAULT_S };
}

/**
 * Authenticates requests according to the destination's `auth`, and manages the tokens, which destinations can
 * share.
 *
 *   the response to a request with `oauth2`          what happens
 *   is a 401, and another token is obtained within   the request is sent once more with the new token, and that
 *     5 s of the start of the request              result counts
 *   is a 401, and no other token is obtained         the 401 counts
 *   is a 401 to the repeated request                 the 401 counts
 *   is a 401, and a proxy fails before the repeated  the 401 counts
 *   request is sent
 *   is anything else                                 that response counts
 *
 * If a token ends between `isReady` and the request, the request waits for another one. If there is none, it is not
 * sent, which counts as no attempt.
 *
 * Both requests belong to the same attempt, whose duration also includes the wait for the token. Destinations with
 * the same `auth`, `tls` and `proxy` share a token. If a proxy fails before a token request is sent, there is no token,
 * and the reason names the proxy. The address and the certificate of the token endpoint are checked in the
 * same way as those of other endpoints. Redirects are not followed. The response with the token must arrive within 5
 * s, and may have at most 64 KiB.
 */

import type { Clock } from "../../../base/runtime/clock.ts";
import {
  noTokenText,
  paceOf,
  readToken,
  type TokenResult,
  tokenRequest,
} from "../../../base/runtime/oauth-token.ts";
import { CREDENTIAL_MAX_BYTES } from "../../../base/runtime/request-credentials.ts";
import { endpointKey } from "../../../domain/destination.ts";
import type { Egress } from "../../../domain/live-settings.ts";
import { retryAfterMs } from "../../../domain/retry-after.ts";
import type { Phases, Readiness, RequestResult, SenderHold, SendResult } from "../port.ts";
import type { OAuth2 } from "./auth-settings.ts";
import {
  authorizationOf,
  maskKept,
  maskSecrets,
  secretsOf,
  withAuthorization,
} from "./authorization.ts";
import type { Connected, HttpConnections, RealConnections, RealHttp } from "./http-port.ts";
import type { WebhookRequest } from "./request.ts";
import type { WebhookDestination, WebhookEndpoint } from "./settings.ts";
import { TokenKeeper } from "./token-keeper.ts";

const REPEAT_WITHIN_MS = 5_000;

interface KeptToken {
  readonly keeper: TokenKeeper;
  readonly connections: RealConnections;
  readonly connected: Connected;
  users: number;
}

type TokenUser = Pick<WebhookDestination, "auth" | "tls" | "proxy" | "enabled">;

export class Tokens {
  readonly #http: RealHttp;
  readonly #clock: Clock;
  readonly #kept = new Map<string, KeptToken>();

  /** @param http the connections to token endpoints. A request ends within 5 s. */
  constructor(http: RealHttp, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  update(egress: Egress): void {
    this.#http.update(egress);
  }

  /** Requests the token for these settings immediately. Returns null if no token is needed. */
  acquire(user: TokenUser): TokenUse | null {
    const { auth, tls, proxy, enabled } = user;
    if (auth?.type !== "oauth2" || !enabled) return null;
    const name = JSON.stringify([auth, tls, proxy]);
    const kept = this.#kept.get(name) ?? this.#create(auth, { tls, proxy });
    this.#kept.set(name, kept);
    kept.users += 1;
    kept.connections.update(kept.connected);
    kept.keeper.take();
    const release = () => this.#release(name, kept);
    return { keeper: kept.keeper, release };
  }

  #create(auth: OAuth2, way: Omit<Connected, "endpoints">): KeptToken {
    const endpoint = { key: endpointKey(auth.tokenUrl), url: auth.tokenUrl, headers: [] };
    const connected = { endpoints: [endpoint], ...way };
    const connections = this.#http.open(connected);
    const keeper = new TokenKeeper({
      request: () => requestToken(connections, endpoint, auth, this.#clock),
      failureText: (why) => noTokenText(auth, why),
      pace: paceOf(auth),
      clock: this.#clock,
    });
    return { keeper, connections, connected, users: 0 };
  }

  async #release(name: string, kept: KeptToken): Promise<void> {
    kept.users -= 1;
    if (kept.users > 0) return;
    this.#kept.delete(name);
    kept.keeper.close();
    await kept.connections.close();
  }
}

interface TokenUse {
  readonly keeper: TokenKeeper;
  readonly release: () => Promise<void>;
}

function requestToken(
  connections: HttpConnections,
  endpoint: WebhookEndpoint,
  auth: OAuth2,
  clock: Clock,
): Promise<TokenResult> {
  const { headers, form } = tokenRequest(auth, clock.nowMs());
  const request: WebhookRequest = {
    method: "POST",
    url: auth.tokenUrl,
    headers: [
      ["User-Agent", "Switchyard/1.0"],
      ["Content-Type", "application/x-www-form-urlencoded"],
      ...Object.entries(headers),
    ],
    body: Buffer.from(form.toString()),
    readsResponse: true,
  };
  const phases: Phases = { keepBytes: CREDENTIAL_MAX_BYTES };
  return new Promise((resolve) => {
    const done = (result: RequestResult) =>
      resolve(tokenIn(result, phases.kept ?? [], clock.nowMs()));
    connections.send(endpoint, request, done, phases);
  });
}

function tokenIn(result: RequestResult, kept: readonly Buffer[], nowMs: number): TokenResult {
  if (result.kind === "not-sent") return { kind: "none", why: result.error };
  if (result.kind === "no-response") return { kind: "none", why: `no response, ${result.cause}` };
  // If the response is unsuccessful, only its start is kept.
  const body = result.body ?? Buffer.concat(kept);
  if (body.length > CREDENTIAL_MAX_BYTES) {
    return { kind: "none", why: "its response is longer than 64 KiB" };
  }
  return readToken(result.status, body.toString(), retryAfterMs(result.retryAfter, nowMs));
}

/** Sends the requests of one destination. */
export class Authorized implements HttpConnections, Readiness {
  readonly #connections: HttpConnections;
  readonly #tokens: Tokens | null;
  #destination: WebhookDestination;
  #use: TokenUse | null;
  #isClosed = false;
  /** The secrets that were masked last. */
  #masked: { destination: WebhookDestination; token: string; secrets: readonly string[] } | null =
    null;
  /** The token of the last request. */
  #token = "";
  #listener: (() => void) | null = null;
  #endListening: (() => void) | undefined;

  /** @param tokens null if no destination has `oauth2`. */
  constructor(
    connections: HttpConnections,
    destination: WebhookDestination,
    tokens: Tokens | null,
  ) {
    this.#connections = connections;
    this.#tokens = tokens;
    this.#destination = destination;
    this.#use = tokens?.acquire(destination) ?? null;
    this.#endListening = this.#listen();
  }

  isReady(): boolean {
    return this.#use === null || this.#use.keeper.take() !== null;
  }

  hold(): SenderHold | null {
    return this.#use?.keeper.hold() ?? null;
  }

  onChange(then: () => void): void {
    this.#listener = then;
  }

  send(
    endpoint: WebhookEndpoint,
    request: WebhookRequest,
    done: (result: RequestResult) => void,
    phases?: Phases,
  ): void {
    const { auth } = this.#destination;
    const exchange = { endpoint, request, done, phases };
    if (auth?.type === "oauth2") this.#sendWithToken(exchange);
    else this.#sendOnce(exchange, "", done);
  }

  update(destination: WebhookDestination): void {
    const before = this.#use;
    this.#endListening?.();
    this.#destination = destination;
    this.#use = this.#tokens?.acquire(destination) ?? null;
    this.#endListening = this.#listen();
    // The use of the old token is released last, so that the token is kept if the new settings need the same one.
    void before?.release();
    this.#connections.update(destination);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endListening?.();
    await Promise.all([this.#connections.close(), this.#use?.release()]);
  }

  #listen(): (() => void) | undefined {
    return this.#use?.keeper.onChange(() => this.#listener?.());
  }

  #sendWithToken(exchange: Exchange): void {
    const keeper = this.#use?.keeper;
    const token = keeper?.take() ?? null;
    if (keeper === undefined || token === null) void this.#sendLate(exchange, keeper);
    else this.#sendFirst(exchange, keeper, token);
  }

  /** Sends a request whose token has reached the end of its lifetime since `isReady` returned true. */
  async #sendLate(exchange: Exchange, keeper: TokenKeeper | undefined): Promise<void> {
    const token = (await keeper?.obtain()) ?? null;
    if (keeper !== undefined && token !== null && !this.#isClosed) {
      this.#sendFirst(exchange, keeper, token);
      return;
    }
    const error = keeper?.hold()?.error ?? "the token has ended, and there is no other";
    exchange.done({ kind: "not-sent", proxy: null, error, durationMs: 0 });
  }

  #sendFirst(exchange: Exchange, keeper: TokenKeeper, token: string): void {
    const startedAtMs = keeper.nowMs();
    this.#sendOnce(exchange, token, (result) => {
      const isRejected = result.kind === "response" && result.status === 401;
      if (isRejected) void this.#sendAgain(exchange, keeper, { token, startedAtMs, result });
      else exchange.done(result);
    });
  }

  async #sendAgain(exchange: Exchange, keeper: TokenKeeper, first: First): Promise<void> {
    const { done, phases } = exchange;
    const token = await keeper.obtain(first.token);
    const elapsedMs = Math.max(0, keeper.nowMs() - first.startedAtMs);
    if (token === null || this.#isClosed || elapsedMs > REPEAT_WITHIN_MS) {
      done(first.result);
      return;
    }
    if (phases !== undefined) forget(phases);
    this.#sendOnce(exchange, token, (result) =>
      done(result.kind === "not-sent" ? first.result : shifted(result, elapsedMs)),
    );
  }

  /** @param token empty if the destination has no `oauth2`. */
  #sendOnce(
    { endpoint, request, phases }: Exchange,
    token: string,
    done: (result: RequestResult) => void,
  ): void {
    const destination = this.#destination;
    const { auth } = destination;
    const authorized =
      auth === null ? request : withAuthorization(request, authorizationOf(auth, token));
    this.#token = token;
    const masked = (result: RequestResult) => {
      if (phases?.kept !== undefined) maskKept(phases, this.#secrets(destination, token));
      done(result);
    };
    const then = phases?.keepBytes === undefined ? done : masked;
    this.#connections.send(endpoint, authorized, then, phases);
  }

  /** Masks secrets in the start of a text that is part of a response. */
  masked(text: string, keepBytes: number): string {
    const bytes = Buffer.from(text.slice(0, keepBytes + 1));
    const secrets = this.#secrets(this.#destination, this.#token);
    return maskSecrets(bytes.subarray(0, keepBytes), secrets, bytes.length > keepBytes).toString();
  }

  #secrets(destination: WebhookDestination, token: string): readonly string[] {
    if (this.#masked?.destination !== destination || this.#masked.token !== token) {
      this.#masked = { destination, token, secrets: secretsOf(destination, token) };
    }
    return this.#masked.secrets;
  }
}

/** One request of an attempt. */
interface Exchange {
  readonly endpoint: WebhookEndpoint;
  readonly request: WebhookRequest;
  readonly done: (result: RequestResult) => void;
  readonly phases: Phases | undefined;
}

/** The first request, to which the endpoint responded 401. */
interface First {
  readonly token: string;
  readonly startedAtMs: number;
  readonly result: SendResult;
}

const STEPS = ["openedMs", "lookedUpMs", "connectedMs", "securedMs", "sentMs", "headMs"] as const;

/** Clears the phases, because the second request uses the same object. */
function forget(phases: Phases): void {
  for (const step of STEPS) delete phases[step];
  delete phases.isName;
  delete phases.isSecure;
  delete phases.kept;
}

/** The result of the second request, with times that are measured from the start of the first one. */
function shifted(result: SendResult, byMs: number): SendResult {
  const { phases } = result;
  for (const step of STEPS) {
    const atMs = phases?.[step];
    if (phases !== undefined && atMs !== undefined) phases[step] = atMs + byMs;
  }
  return { ...result, durationMs: result.durationMs + byMs };
}

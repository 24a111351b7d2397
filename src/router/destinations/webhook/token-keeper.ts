/**
 * Keeps the token that webhook destinations with the same `auth` share. `runtime/oauth-token.ts` requests tokens and
 * determines their lifetimes.
 *
 *   a request to an endpoint is about to start, and the token    what happens
 *   is fresh                                                     the token is used
 *   is in the last fifth of its lifetime                         the token is used, and a new one is requested
 *   is missing, or its lifetime has ended                        the destination is on hold, and a token is requested
 *
 *   a token request fails                                        it is repeated after 1 s, 2 s, 4 s, then every 5 s,
 *                                                                and not before the time in `Retry-After`
 *   an endpoint responds 401 to the current token                a new one is requested, unless it is too early for
 *                                                                that; until it arrives, the current one is used
 *   ... to a token that has been replaced                        the current token is used
 *
 * A destination without deliveries needs no token, so it is not put on hold when the lifetime of its token ends. The
 * next delivery then has to wait for a new token.
 */

import type { Clock } from "../../../base/runtime/clock.ts";
import {
  SharedToken,
  type TokenPace,
  type TokenResult,
} from "../../../base/runtime/oauth-token.ts";
import type { SenderHold } from "../port.ts";

const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 5_000;

export function waitBeforeRequest(failures: number): number {
  return Math.min(WAIT_MAX_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
}

export interface KeeperPorts {
  /** Resolves within seconds and does not reject. */
  readonly request: () => Promise<TokenResult>;
  /** Returns a sentence about a failed token request. */
  readonly failureText: (why: string) => string;
  readonly pace: TokenPace;
  readonly clock: Clock;
}

export class TokenKeeper {
  readonly #ports: KeeperPorts;
  readonly #token: SharedToken;
  readonly #listeners = new Set<() => void>();
  readonly #closed = new AbortController();
  /** True while a token is being requested, or will be requested after a wait. */
  #isRequesting = false;
  /** When a token was first needed but missing; null if there is a token, or if no token is needed. */
  #missingSinceMs: number | null = null;
  #nextRequestAtMs = 0;
  #error: string | null = null;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
    const { request, clock, pace } = ports;
    this.#token = new SharedToken(request, clock, () => pace);
  }

  /** Returns the token for a request that starts now; null if there is none yet. */
  take(): string | null {
    const fresh = this.#token.fresh();
    if (fresh !== null) return fresh;
    const current = this.#token.current();
    if (current === null) this.#missingSinceMs ??= this.#ports.clock.nowMs();
    void this.#requestUntilFresh();
    return current;
  }

  /** Why there is no token; null if there is a token, or if no token has been needed. */
  hold(): SenderHold | null {
    if (this.#missingSinceMs === null) return null;
    const sinceMs = this.#missingSinceMs;
    return { reason: "token", sinceMs, untilMs: this.#nextRequestAtMs, error: this.#error };
  }

  /**
   * Resolves with the current token, or with the token from the request in flight. Resolves with null if there is
   * neither, or if that request fails.
   *
   * @param rejected the token to which an endpoint has responded 401; the result is another one, or null.
   */
  async obtain(rejected: string | null = null): Promise<string | null> {
    if (rejected !== null) this.#token.reject(rejected);
    const token = this.take();
    if (token !== null && token !== rejected) return token;
    // If the next token request is not due yet, there is no wait for it, because the delivery will be retried later.
    if (!this.#isRequesting || this.#nextRequestAtMs > this.nowMs()) return null;
    const result = await this.#token.renew();
    return result.kind === "token" && result.token !== rejected ? result.token : null;
  }

  nowMs(): number {
    return this.#ports.clock.nowMs();
  }

  /** @returns a function after which `then` is no longer called. */
  onChange(then: () => void): () => void {
    this.#listeners.add(then);
    return () => this.#listeners.delete(then);
  }

  close(): void {
    this.#closed.abort();
  }

  async #requestUntilFresh(): Promise<void> {
    if (this.#isRequesting || this.#closed.signal.aborted) return;
    this.#isRequesting = true;
    const { clock, failureText, pace } = this.#ports;
    this.#nextRequestAtMs = clock.nowMs();
    for (let failures = 1; ; failures += 1) {
      const result = await this.#token.renew();
      if (this.#closed.signal.aborted) return;
      if (result.kind === "token") break;
      this.#error = failureText(result.why);
      if (this.#token.current() === null) this.#missingSinceMs ??= clock.nowMs();
      const waitMs = Math.max(waitBeforeRequest(failures), pace.waitMs(clock.nowMs()));
      this.#nextRequestAtMs = clock.nowMs() + waitMs;
      this.#tell();
      if (!(await this.#sleep(waitMs))) return;
    }
    this.#isRequesting = false;
    this.#missingSinceMs = null;
    this.#error = null;
    this.#tell();
  }

  /** Sleeps. Resolves with false if the keeper was closed meanwhile. */
  #sleep(ms: number): Promise<boolean> {
    return this.#ports.clock.sleep(ms, this.#closed.signal).then(
      () => true,
      () => false,
    );
  }

  #tell(): void {
    for (const then of [...this.#listeners]) then();
  }
}

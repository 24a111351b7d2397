/**
 * What is known about one endpoint, and why it is unavailable.
 *
 *   the endpoint                                      it is unavailable
 *   responded 410                                     until an operator resumes the destination
 *   is behind a proxy that fails                      until a probe gets through (`proxy-gate.ts`)
 *   sent Retry-After                                  until that time, at most for the retry window
 *   keeps failing                                     until the next probe (`circuit-breaker.ts`)
 *
 * The first row that applies is the reason, except that of the last two, the longer one is.
 *
 * If the record that an endpoint is gone cannot be written, this process sends it another request after a minute.
 */

import type { HoldReason } from "../../domain/destination-status.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { HoldCause } from "./hold-cause.ts";
import type { Stop } from "./prepare.ts";
import { ProxyGate } from "./proxy-gate.ts";

/** How long an endpoint is gone for this process alone, before the record about it has been read. */
const GONE_ALONE_MS = 60_000;
const FOREVER = Number.POSITIVE_INFINITY;

/**
 * A hold of the destination. A probe in progress does not end it. `untilMs` is null if an operator has to end the hold.
 */
export interface DestinationHold extends Omit<HoldCause, "reason"> {
  readonly reason: HoldReason;
  /** If the reason is a missing token or a proxy, what failed. */
  readonly error?: string | null;
  /** If the reason is a proxy, its host and port. */
  readonly proxy?: string;
}

export class EndpointGate {
  readonly key: EndpointKey;
  readonly breaker: CircuitBreaker;
  readonly proxy = new ProxyGate();
  /** When another process last reported that the endpoint was failing. */
  failsElsewhereAtMs = Number.NEGATIVE_INFINITY;
  /** When this process last reported about the endpoint. */
  reportedAtMs = Number.NEGATIVE_INFINITY;
  readonly #retryWindowMs: number;
  #askedUntilMs = 0;
  /**
   * The start of the current series of `Retry-After` responses. A response continues the series if the wait
   * that the previous response requested has not ended.
   */
  #askedSinceMs = 0;
  /**
   * When the endpoint responded 410, and until when it is gone: forever once the topic of operator actions says so. Null
   * if it did not respond 410.
   */
  #gone: { readonly sinceMs: number; readonly untilMs: number } | null = null;

  constructor(key: EndpointKey, breaker: CircuitBreaker, retryWindowMs: number) {
    this.key = key;
    this.breaker = breaker;
    this.#retryWindowMs = retryWindowMs;
  }

  /** The endpoint sent `Retry-After`. */
  ask(forMs: number, nowMs: number): void {
    if (this.askedUntilMs(nowMs) <= nowMs) this.#askedSinceMs = nowMs;
    this.#askedUntilMs = Math.max(this.#askedUntilMs, nowMs + Math.min(forMs, this.#retryWindowMs));
  }

  askedUntilMs(nowMs: number): number {
    // No hold lasts longer than this, so the clock must have been set back.
    return this.#askedUntilMs - nowMs > this.#retryWindowMs ? 0 : this.#askedUntilMs;
  }

  /** The endpoint responded 410. Returns false if it is gone already: other requests had been in progress. */
  respondedGone(nowMs: number): boolean {
    if (this.#goneAt(nowMs) !== null) return false;
    this.#gone = { sinceMs: nowMs, untilMs: nowMs + GONE_ALONE_MS };
    return true;
  }

  /** @param goneSinceMs when the endpoint responded 410, according to the topic; null if there is no record. */
  setGone(goneSinceMs: number | null): void {
    if (goneSinceMs !== null) this.#gone = { sinceMs: goneSinceMs, untilMs: FOREVER };
    else if (this.#gone?.untilMs === FOREVER) this.#gone = null;
  }

  #goneAt(nowMs: number) {
    const gone = this.#gone;
    const isAlone = gone !== null && gone.untilMs !== FOREVER;
    return isAlone && !isWithin(gone.sinceMs, GONE_ALONE_MS, nowMs) ? null : gone;
  }

  /** Why no request may start, even if it would be a retry; null if one may start. */
  stopped(nowMs: number): Stop | null {
    const gone = this.#goneAt(nowMs);
    if (gone !== null) return { reason: "gone", untilMs: gone.untilMs };
    const untilMs = this.proxy.closedUntilMs(nowMs);
    return untilMs > nowMs ? { reason: "proxy", untilMs } : null;
  }

  /** Before this time, nothing may be taken from the queue for the endpoint. */
  unavailableUntilMs(nowMs: number): number {
    return Math.max(
      this.stopped(nowMs)?.untilMs ?? 0,
      this.askedUntilMs(nowMs),
      this.breaker.unavailableUntilMs(nowMs),
    );
  }

  /** Why the endpoint is unavailable; null if it is available. A destination with only this endpoint is on hold. */
  unavailability(nowMs: number): DestinationHold | null {
    const gone = this.#goneAt(nowMs);
    if (gone !== null) return { reason: "gone", sinceMs: gone.sinceMs, untilMs: null };
    const failure = this.proxy.failure(nowMs);
    if (failure !== null) {
      return { ...failure, reason: "proxy", untilMs: Math.max(failure.untilMs, nowMs) };
    }
    const untilMs = this.askedUntilMs(nowMs);
    const openSinceMs = this.breaker.openSinceMs(nowMs);
    const openMs = this.breaker.unavailableUntilMs(nowMs) || nowMs;
    const asked = { reason: "retry-after", sinceMs: this.#askedSinceMs, untilMs } as const;
    if (openSinceMs === null) return untilMs > nowMs ? asked : null;
    if (untilMs > openMs) return { ...asked, sinceMs: Math.min(openSinceMs, asked.sinceMs) };
    const sinceMs = untilMs > nowMs ? Math.min(openSinceMs, asked.sinceMs) : openSinceMs;
    return { reason: "circuit-open", sinceMs, untilMs: openMs };
  }
}

/** Returns false if the clock was set back. */
export function isWithin(sinceMs: number, forMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < forMs;
}

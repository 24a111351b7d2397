/**
 * How a destination's line and its retries share `concurrency`.
 *
 *   waiting                       goes next
 *   the line alone                the line
 *   retries alone                 a retry
 *   both                          they take turns; retries have at most half of the places
 *   both, and a probe is due      a retry, but the line after three of them: calls that always fail
 *                                 must not keep an endpoint closed
 *
 *   retries                       places that the line leaves free for more of them
 *   none is due, or about to be   none
 *   due now, or within a second   an eighth of `concurrency`, at least one, unless there is only one
 *   the same, and an attempt      none: a place is given back soon enough
 *   takes under 250 ms
 *   half of the places            none
 *
 * So a retry that is due finds a place at once at a slow endpoint, which gives places back seldom, and
 * no place is idle for long. When retries are due is known of those that this process parked. Those of
 * other processes are seen when the first of them comes: more are likely to be right behind it.
 */

import type { SlotFor } from "./circuit-breaker.ts";

const RETRIES_PER_PROBE = 3;
/** Before and after a time at which a retry is due. */
const NEAR_DUE_MS = 1_000;
const FAST_MS = 250;
/** Of a new duration in the average. */
const NEW_SHARE = 1 / 8;
/** Spans of time that are kept. More of them are joined: a failing endpoint has one for each second. */
const SPANS_MAX = 16;

interface Span {
  fromMs: number;
  toMs: number;
}

export class SlotScheduler {
  #concurrency: number;
  #underWay = 0;
  #retries = 0;
  #retriesInARow = 0;
  /** When retries are expected, in order. */
  readonly #expected: Span[] = [];
  /** How long attempts take, on a moving average; unknown is slow. */
  #attemptMs = Number.POSITIVE_INFINITY;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Other places from now on; where they are fewer, no more starts until enough have ended. */
  allow(concurrency: number): void {
    this.#concurrency = concurrency;
  }

  get isFull(): boolean {
    return this.#underWay >= this.#concurrency;
  }

  /** Whether there is a place for the line. */
  hasPlaceForLine(nowMs: number): boolean {
    const kept = this.#areExpected(nowMs) ? this.#keptFree() : 0;
    return this.#underWay < this.#concurrency - kept;
  }

  /** Whether a retry goes next, if one waits; the line could go as well. */
  isRetrysTurn(isProbeDue: boolean): boolean {
    if (this.#haveHalf()) return false;
    return this.#retriesInARow < (isProbeDue ? RETRIES_PER_PROBE : 1);
  }

  started(turn: SlotFor): void {
    this.#underWay += 1;
    if (turn === "retry") this.#retries += 1;
    this.#retriesInARow = turn === "retry" ? this.#retriesInARow + 1 : 0;
  }

  /** @param tookMs from the start of the attempt. */
  ended(turn: SlotFor, tookMs: number): void {
    this.#underWay -= 1;
    if (turn === "retry") this.#retries -= 1;
    if (this.#attemptMs === Number.POSITIVE_INFINITY) this.#attemptMs = tookMs;
    else this.#attemptMs += (tookMs - this.#attemptMs) * NEW_SHARE;
  }

  /** A delivery was parked until then, or came back: then others may come about now. */
  expectRetry(dueAtMs: number): void {
    const fromMs = dueAtMs - NEAR_DUE_MS;
    const toMs = dueAtMs + NEAR_DUE_MS;
    const spans = this.#expected;
    let at = spans.findIndex((span) => fromMs <= span.toMs);
    if (at === -1) at = spans.length;
    const there = spans[at];
    if (there !== undefined && there.fromMs <= toMs) {
      there.fromMs = Math.min(there.fromMs, fromMs);
      there.toMs = Math.max(there.toMs, toMs);
    } else {
      spans.splice(at, 0, { fromMs, toMs });
    }
    this.#join(at);
  }

  /** Spans that overlap become one, and so do the two latest where there are too many. */
  #join(at: number): void {
    const spans = this.#expected;
    const [span, next] = [spans[at], spans[at + 1]];
    if (span !== undefined && next !== undefined && next.fromMs <= span.toMs) {
      span.toMs = Math.max(span.toMs, next.toMs);
      spans.splice(at + 1, 1);
    }
    if (spans.length <= SPANS_MAX) return;
    const last = spans.pop();
    const before = spans.at(-1);
    if (last !== undefined && before !== undefined) before.toMs = last.toMs;
  }

  #areExpected(nowMs: number): boolean {
    if (this.#attemptMs < FAST_MS) return false;
    const spans = this.#expected;
    while (spans[0] !== undefined && spans[0].toMs <= nowMs) spans.shift();
    return spans[0] !== undefined && spans[0].fromMs <= nowMs;
  }

  #keptFree(): number {
    if (this.#concurrency === 1 || this.#haveHalf()) return 0;
    return Math.max(1, Math.floor(this.#concurrency / 8));
  }

  #haveHalf(): boolean {
    return this.#retries >= Math.max(1, this.#concurrency / 2);
  }
}

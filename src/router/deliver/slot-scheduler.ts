/**
 * Divides the slots under `concurrency` between a destination's queue and its due retries.
 *
 *   waiting                    next
 *   the queue only             the queue
 *   retries only               a retry
 *   both                       alternate; retries use at most half of the slots
 *   both, and a probe is due   a retry, but the queue after three retries, so that calls which always
 *                              fail cannot keep a circuit open
 *
 *   retries                                     slots that the queue leaves free for retries
 *   none is due within a second                 none
 *   one is due, or will be within a second      an eighth of `concurrency`, at least one; none if it is 1
 *   the same, and attempts take under 250 ms    none, because a slot becomes free soon enough
 *   they use half of the slots                  none
 *
 * A due retry therefore starts immediately even if the endpoint is slow, and no slot stays idle for long. Due
 * times are available only for retries that this process scheduled. When a retry that another process
 * scheduled arrives, more of that process's retries are expected to follow.
 */

import assert from "node:assert/strict";
import type { Turn } from "./circuit-breaker.ts";

const RETRIES_PER_PROBE = 3;
/** Slots are kept free for this long before and after a retry is due. */
const NEAR_DUE_MS = 1_000;
const FAST_MS = 250;
/** The weight of a new duration in the average. */
const NEW_SHARE = 1 / 8;
/** Maximum number of time spans; beyond that, spans are merged, because a failing endpoint adds one per second. */
const SPANS_MAX = 16;

interface Span {
  fromMs: number;
  toMs: number;
}

export class SlotScheduler {
  #concurrency: number;
  /** Attempts in progress, and the retries among them: raised by `started`, lowered by `ended`. */
  #underWay = 0;
  #retries = 0;
  /** Retries that have started since the last delivery from the queue. */
  #retriesInARow = 0;
  /** The time spans in which retries are expected, in order. */
  readonly #expected: Span[] = [];
  /** Moving average of the attempt duration; infinite until it is known. */
  #attemptMs = Number.POSITIVE_INFINITY;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /**
   * Changes the number of slots. If more attempts than that are in progress, nothing starts until enough of
   * them have completed.
   */
  allow(concurrency: number): void {
    this.#concurrency = concurrency;
  }

  get isFull(): boolean {
    return this.#underWay >= this.#concurrency;
  }

  /** True if a slot is free for the queue. */
  hasPlaceForQueue(nowMs: number): boolean {
    const kept = this.#areExpected(nowMs) ? this.#keptFree() : 0;
    return this.#underWay < this.#concurrency - kept;
  }

  /** True if a slot is free for a delivery of this kind. */
  hasPlace(turn: Turn, nowMs: number): boolean {
    return turn === "queue" ? this.hasPlaceForQueue(nowMs) : !this.isFull;
  }

  /** True if a waiting retry takes precedence over the queue. */
  isRetrysTurn(isProbeDue: boolean): boolean {
    if (this.#haveHalf()) return false;
    return this.#retriesInARow < (isProbeDue ? RETRIES_PER_PROBE : 1);
  }

  started(turn: Turn): void {
    this.#underWay += 1;
    if (turn === "retry") this.#retries += 1;
    this.#retriesInARow = turn === "retry" ? this.#retriesInARow + 1 : 0;
  }

  /** @param tookMs the time since the start of the attempt. */
  ended(turn: Turn, tookMs: number): void {
    assert(this.#underWay > 0, "an attempt ended that had not started");
    this.#underWay -= 1;
    if (turn === "retry") this.#retries -= 1;
    if (this.#attemptMs === Number.POSITIVE_INFINITY) this.#attemptMs = tookMs;
    else this.#attemptMs += (tookMs - this.#attemptMs) * NEW_SHARE;
  }

  /**
   * Call when a retry is scheduled for this time or has arrived, because other retries are then likely at about the
   * same time.
   */
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

  /** Merges spans that overlap. If there are still too many, merges the two latest. */
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

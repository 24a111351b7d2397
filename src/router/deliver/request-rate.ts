/**
 * Limits the requests of this process to its share of a destination's `requestsPerSecond`. A process that
 * owns a third of the destination's partitions gets a third of the limit.
 *
 *   what waits for its turn    tries again
 *   deliveries, and parts of   when the wait is over
 *   a batch that was split     when the limit or the share changes, because the wait may then be shorter
 */

import { createRateLimiter, type RateLimiter } from "../../domain/rate-limit.ts";

interface Timer {
  after(ms: number, then: () => void): void;
}

export class RequestRate {
  readonly #timer: Timer;
  /** Changed by `limit`, when settings change; null if the destination has no `requestsPerSecond`. */
  #perSecond: number | null;
  /** Changed by `setPartitions`, when the partitions of the topics are counted. */
  #partitions: number;
  /** Null while requests are not limited. */
  #limiter: RateLimiter | null = null;
  /** Changed by `own`, when a partition is assigned or revoked. */
  #owned = 0;
  /** What waits. Added by `take`; removed when it tries again. */
  readonly #waiting = new Set<() => void>();

  constructor(perSecond: number | null, partitions: number, timer: Timer) {
    this.#timer = timer;
    this.#perSecond = perSecond;
    this.#partitions = partitions;
    this.#apply();
  }

  /** Changes the limit; requests in the last second still count. */
  limit(perSecond: number | null): void {
    this.#perSecond = perSecond;
    this.#apply();
  }

  /** @param partitions the number of partitions of the topics, including those that other processes own. */
  setPartitions(partitions: number): void {
    this.#partitions = partitions;
    this.#apply();
  }

  /** Adds one to the number of owned partitions, or subtracts one. */
  own(change: 1 | -1): void {
    this.#owned += change;
    this.#apply();
  }

  /** Returns true if the requests may be sent now. Otherwise calls `tryAgain`, once, when it may be worth another call. */
  take(requests: number, nowMs: number, tryAgain: () => void): boolean {
    const waitMs = this.#limiter?.take(nowMs, requests) ?? 0;
    if (waitMs === 0) return true;
    this.#waiting.add(tryAgain);
    this.#timer.after(waitMs, () => {
      if (this.#waiting.delete(tryAgain)) tryAgain();
    });
    return false;
  }

  #apply(): void {
    if (this.#perSecond === null) this.#limiter = null;
    else {
      this.#limiter ??= createRateLimiter(this.#perSecond);
      const share = Math.min(1, this.#owned / this.#partitions);
      if (share > 0) this.#limiter.setRate(this.#perSecond * share);
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const tryAgain of waiting) tryAgain();
  }
}

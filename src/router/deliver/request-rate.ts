/**
 * Limits the requests of this process to its share of a destination's `requestsPerSecond`. A process that
 * owns a third of the destination's partitions gets a third of the limit.
 */

import { createRateLimiter, type RateLimiter } from "../../domain/rate-limit.ts";

export class RequestRate {
  /** Changed by `limit`, when settings change; null if the destination has no `requestsPerSecond`. */
  #perSecond: number | null;
  /** Changed by `setPartitions`, when the partitions of the topics are counted. */
  #partitions: number;
  /** Null while requests are not limited. */
  #limiter: RateLimiter | null = null;
  /** Changed by `own`, when a partition is assigned or revoked. */
  #owned = 0;

  constructor(perSecond: number | null, partitions: number) {
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

  /**
   * Returns 0 if the requests may be sent now, and otherwise the number of milliseconds to wait before the next call.
   */
  take(nowMs: number, requests: number): number {
    return this.#limiter?.take(nowMs, requests) ?? 0;
  }

  #apply(): void {
    if (this.#perSecond === null) {
      this.#limiter = null;
      return;
    }
    this.#limiter ??= createRateLimiter(this.#perSecond);
    if (this.#owned === 0) return;
    this.#limiter.setRate(this.#perSecond * Math.min(1, this.#owned / this.#partitions));
  }
}

/**
 * Limits the requests of this process to its share of a destination's `requestsPerSecond`. A process that
 * owns a third of the destination's partitions gets a third of the limit.
 */

import { createRateLimiter, type RateLimiter } from "../domain/rate-limit.ts";

export class RequestRate {
  #perSecond: number | null;
  #partitions: number;
  #limiter: RateLimiter | null = null;
  #owned = 0;

  /** @param perSecond null if there is no limit. */
  constructor(perSecond: number | null, partitions: number) {
    this.#perSecond = perSecond;
    this.#partitions = partitions;
    this.#set();
  }

  /** Changes the limit; requests in the last second still count. */
  limit(perSecond: number | null): void {
    this.#perSecond = perSecond;
    this.#set();
  }

  /** Sets the number of partitions of the topics. */
  isOf(partitions: number): void {
    this.#partitions = partitions;
    this.#set();
  }

  /** Adds one to the number of owned partitions, or subtracts one. */
  owns(change: 1 | -1): void {
    this.#owned += change;
    this.#set();
  }

  /**
   * Returns 0 if the requests may be sent now, and otherwise the number of milliseconds to wait before the next call.
   */
  take(nowMs: number, requests: number): number {
    return this.#limiter?.take(nowMs, requests) ?? 0;
  }

  #set(): void {
    if (this.#perSecond === null) {
      this.#limiter = null;
      return;
    }
    this.#limiter ??= createRateLimiter(this.#perSecond);
    if (this.#owned === 0) return;
    this.#limiter.setRate(this.#perSecond * Math.min(1, this.#owned / this.#partitions));
  }
}

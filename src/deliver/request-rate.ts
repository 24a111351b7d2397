/**
 * `requestsPerSecond` of a destination in this process: the share of the partitions that it owns, of
 * all partitions of the destination's topics.
 */

import { createRateLimiter, type RateLimiter } from "../domain/rate-limit.ts";

export class RequestRate {
  #perSecond: number | null;
  #partitions: number;
  #limiter: RateLimiter | null = null;
  #owned = 0;

  /** @param perSecond null: no limit. */
  constructor(perSecond: number | null, partitions: number) {
    this.#perSecond = perSecond;
    this.#partitions = partitions;
    this.#set();
  }

  /** Another limit from now on; requests of the last second still count. */
  limit(perSecond: number | null): void {
    this.#perSecond = perSecond;
    this.#set();
  }

  /** The topics have so many partitions. */
  isOf(partitions: number): void {
    this.#partitions = partitions;
    this.#set();
  }

  /** Partitions came or went. */
  owns(change: 1 | -1): void {
    this.#owned += change;
    this.#set();
  }

  /** 0: go. More: wait that many milliseconds and ask again. */
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

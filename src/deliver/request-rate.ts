/**
 * `requestsPerSecond` of a destination in this process: the share of the partitions that it owns, of
 * all partitions of the destination's topics.
 */

import { createRateLimiter, type RateLimiter } from "../domain/rate-limit.ts";

export class RequestRate {
  readonly #perSecond: number | null;
  readonly #partitions: number;
  readonly #limiter: RateLimiter | null;
  #owned = 0;

  /** @param perSecond null: no limit. */
  constructor(perSecond: number | null, partitions: number) {
    this.#perSecond = perSecond;
    this.#partitions = partitions;
    this.#limiter = perSecond === null ? null : createRateLimiter(perSecond);
  }

  /** Partitions came or went. */
  owns(change: 1 | -1): void {
    this.#owned += change;
    if (this.#perSecond === null || this.#owned === 0) return;
    const share = Math.min(1, this.#owned / this.#partitions);
    this.#limiter?.setRate(this.#perSecond * share);
  }

  /** 0: go. More: wait that many milliseconds and ask again. */
  take(nowMs: number, requests: number): number {
    return this.#limiter?.take(nowMs, requests) ?? 0;
  }
}

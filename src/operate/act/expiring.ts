/**
 * Counts the deliveries awaiting retry that would expire while their destination is paused.
 *
 *   a waiting delivery                                     during the pause
 *   has not been attempted                                 has no retry window, and stays queued
 *   its retry window ends before the pause does            expires
 *   its retry window ends, and the pause has no end        expires, unless the destination is resumed first
 *   its retry window ends after the pause                  is retried when the pause has ended
 */

import { counted } from "../../words/count.ts";
import { instantText } from "../connect/instant.ts";

export class Expiring {
  readonly #retryWindowMs: number;
  readonly #untilMs: number;
  awaitingRetry = 0;
  #count = 0;
  #firstMs = Number.POSITIVE_INFINITY;

  /** @param untilMs null if the pause has no end. */
  constructor(retryWindowMs: number, untilMs: number | null) {
    this.#retryWindowMs = retryWindowMs;
    this.#untilMs = untilMs ?? Number.POSITIVE_INFINITY;
  }

  /** @param firstAttemptAtMs null if the delivery has not been attempted. */
  add(firstAttemptAtMs: number | null): void {
    if (firstAttemptAtMs === null) return;
    this.awaitingRetry += 1;
    const endMs = firstAttemptAtMs + this.#retryWindowMs;
    if (endMs > this.#untilMs) return;
    this.#count += 1;
    this.#firstMs = Math.min(this.#firstMs, endMs);
  }

  /** The counts as JSON. Times are ISO 8601. */
  json(): {
    readonly awaitingRetry: number;
    readonly expiring: number;
    readonly firstExpiresAt: string | null;
  } {
    const firstExpiresAt = this.#count === 0 ? null : new Date(this.#firstMs).toISOString();
    return { awaitingRetry: this.awaitingRetry, expiring: this.#count, firstExpiresAt };
  }

  /** @param isWhole false if the counts are lower bounds. */
  text(isWhole: boolean): string {
    if (this.awaitingRetry === 0 && isWhole)
      return "No delivery is awaiting retry, so none can expire during the pause.";
    const least = isWhole ? "" : "At least ";
    const are = this.awaitingRetry === 1 ? "is" : "are";
    const waiting = `${least}${counted(this.awaitingRetry, "delivery", "deliveries")} ${are} awaiting retry.`;
    if (this.#count === 0) return `${waiting} None of them expires before the end of the pause.`;
    const first = `the first at ${instantText(this.#firstMs)} UTC`;
    const expire = this.#count === 1 ? "expires" : "expire";
    const has = Number.isFinite(this.#untilMs)
      ? `${least}${this.#count} of them ${expire} before the end of the pause`
      : "They expire one by one unless the destination is resumed";
    return `${waiting} ${has}, ${first}.`;
  }
}

/**
 * How many of the deliveries that were attempted would expire while their destination is paused.
 *
 *   a delivery that waits           while it is paused
 *   was never attempted             it has no window, and waits
 *   its window ends before the end  it expires
 *   ... and the pause has no end    it expires, unless the destination is resumed before
 *   its window ends later           it is tried again
 */

import { counted } from "../../words/count.ts";
import { instantText } from "../connect/instant.ts";

export class Expiring {
  readonly #retryWindowMs: number;
  readonly #untilMs: number;
  awaitingRetry = 0;
  #count = 0;
  #firstMs = Number.POSITIVE_INFINITY;

  /** @param untilMs null: the pause has no end. */
  constructor(retryWindowMs: number, untilMs: number | null) {
    this.#retryWindowMs = retryWindowMs;
    this.#untilMs = untilMs ?? Number.POSITIVE_INFINITY;
  }

  /** @param firstAttemptAtMs null: it was never attempted. */
  add(firstAttemptAtMs: number | null): void {
    if (firstAttemptAtMs === null) return;
    this.awaitingRetry += 1;
    const endMs = firstAttemptAtMs + this.#retryWindowMs;
    if (endMs > this.#untilMs) return;
    this.#count += 1;
    this.#firstMs = Math.min(this.#firstMs, endMs);
  }

  /** The same for programs. Instants are ISO 8601. */
  json(): {
    readonly awaitingRetry: number;
    readonly expiring: number;
    readonly firstExpiresAt: string | null;
  } {
    const firstExpiresAt = this.#count === 0 ? null : new Date(this.#firstMs).toISOString();
    return { awaitingRetry: this.awaitingRetry, expiring: this.#count, firstExpiresAt };
  }

  /** @param isWhole whether all that waits was counted. */
  text(isWhole: boolean): string {
    const least = isWhole ? "" : "at least ";
    const attempted = `${least}${counted(this.awaitingRetry, "delivery", "deliveries")}`;
    if (this.awaitingRetry === 0 && isWhole)
      return "None that waits was attempted before: none expires.";
    const begins = `Attempted before and waiting: ${attempted}.`;
    if (this.#count === 0) return `${begins} None of them expires before the end of the pause.`;
    const first = `the first at ${instantText(this.#firstMs)} UTC`;
    const has = Number.isFinite(this.#untilMs)
      ? `Of them ${least}${this.#count} expire before the end of the pause`
      : `They expire one after the other unless it is resumed`;
    return `${begins} ${has}, ${first}.`;
  }
}

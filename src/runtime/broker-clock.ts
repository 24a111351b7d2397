/**
 * The time of day as the brokers have it. A broker puts its own time on each record of a topic with
 * `message.timestamp.type=LogAppendTime`, and says it in its response, so that time lies between the
 * request and the response.
 *
 *   measured                                        then `nowMs` goes by
 *   nothing yet, or never                           the process's own clock
 *   the own clock fits                              the own clock of that moment
 *   it does not                                     the middle of the measurement
 *   it fits, in a response that took over a second  what was measured before, if that fits too
 *   the own clock is set while the process runs     what was measured, until the next measurement
 *
 * Between measurements time passes as the monotonic clock says.
 */

import type { Clock } from "./clock.ts";

/** Differences that are reported. Below, they are corrected and nobody needs to know. */
const OFFSET_MAX_MS = 2_000;
export function isWrongClock(offsetMs: number): boolean {
  return Math.abs(offsetMs) >= OFFSET_MAX_MS;
}

/** A response that took longer shows a wrong clock, but does not prove a right one. */
const PRECISE_MS = 1_000;

/** Times of request and response are of the monotonic clock. */
export interface AppendTime {
  readonly appendedAtMs: number;
  readonly sentAtMs: number;
  readonly respondedAtMs: number;
}

export class BrokerClock implements Clock {
  readonly #own: Clock;
  readonly #monotonicMs: () => number;
  /** Time of day when the monotonic clock was 0; null: not measured. */
  #zeroMs: number | null = null;

  constructor(own: Clock, monotonicMs: () => number) {
    this.#own = own;
    this.#monotonicMs = monotonicMs;
  }

  nowMs(): number {
    return this.#zeroMs === null
      ? this.#own.nowMs()
      : Math.floor(this.#zeroMs + this.#monotonicMs());
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#own.sleep(ms, signal);
  }

  /** How far the own clock is ahead of the brokers', negative: behind. Null: not measured. */
  offsetMs(): number | null {
    return this.#zeroMs === null ? null : Math.round(this.#ownZeroMs() - this.#zeroMs);
  }

  measure({ appendedAtMs, sentAtMs, respondedAtMs }: AppendTime): void {
    const earliestMs = appendedAtMs - respondedAtMs;
    // The broker's time is in whole milliseconds.
    const latestMs = appendedAtMs + 1 - sentAtMs;
    const fits = (zeroMs: number) => zeroMs >= earliestMs && zeroMs <= latestMs;
    const isPrecise = latestMs - earliestMs <= PRECISE_MS;
    const ownZeroMs = this.#ownZeroMs();
    if (fits(ownZeroMs)) {
      if (isPrecise) this.#zeroMs = ownZeroMs;
      if (this.#zeroMs === null || fits(this.#zeroMs)) return;
    }
    if (this.#zeroMs === null || !fits(this.#zeroMs)) this.#zeroMs = (earliestMs + latestMs) / 2;
  }

  #ownZeroMs(): number {
    return this.#own.nowMs() - this.#monotonicMs();
  }
}

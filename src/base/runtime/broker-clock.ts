/**
 * Measures the time of day on the brokers. On a topic with `message.timestamp.type=LogAppendTime`, the broker sets the
 * timestamp of each record and returns the timestamp in the response. This timestamp is between the time of the request
 * and the time of the response.
 *
 *   measurement                                            `nowMs` then follows
 *   none yet, or not possible                              the process's clock
 *   agrees with the process's clock                        the process's clock at that time
 *   disagrees with the process's clock                     the middle of the measurement
 *   agrees, but the response took over a second            the earlier measurement, if the process's clock
 *                                                         also agrees with that one
 *   the process's clock is set while it runs               the last measurement, until the next one
 *
 * Between measurements, time is taken from the monotonic clock.
 */

import type { Clock } from "./clock.ts";

/** Larger differences are reported. Smaller differences are only corrected. */
const OFFSET_MAX_MS = 2_000;
export function isWrongClock(offsetMs: number): boolean {
  return Math.abs(offsetMs) >= OFFSET_MAX_MS;
}

/**
 * Describes how far the clock is off, such as `3 s ahead of the brokers' clock`; null if the clock is correct, or if
 * the difference is unknown.
 */
export function wrongClockText(offsetMs: number | null): string | null {
  if (offsetMs === null || !isWrongClock(offsetMs)) return null;
  const how = offsetMs > 0 ? "ahead of" : "behind";
  return `${Math.round(Math.abs(offsetMs) / 1_000)} s ${how} the brokers' clock`;
}

/** If the response took longer, it can show that the clock is wrong, but not that it is correct. */
const PRECISE_MS = 1_000;

/** The times of the request and the response are from the monotonic clock. */
export interface AppendTime {
  readonly appendedAtMs: number;
  readonly sentAtMs: number;
  readonly respondedAtMs: number;
}

export class BrokerClock implements Clock {
  readonly #own: Clock;
  readonly #monotonicMs: () => number;
  /** Time of day when the monotonic clock was 0; null if not measured. */
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

  /** How far the process's clock is ahead of the brokers' clocks; negative if it is behind, null if not measured. */
  offsetMs(): number | null {
    return this.#zeroMs === null ? null : Math.round(this.#ownZeroMs() - this.#zeroMs);
  }

  measure({ appendedAtMs, sentAtMs, respondedAtMs }: AppendTime): void {
    const earliestMs = appendedAtMs - respondedAtMs;
    // The broker's time is a whole number of milliseconds.
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

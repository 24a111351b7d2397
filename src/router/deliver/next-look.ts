/** A timer that lets deliveries be looked at again. Several requests for it share one timer. */

import type { Timer } from "./attempt.ts";

/** During a longer wait, the time is checked at this interval, in case the clock was changed. */
const LOOK_AGAIN_MAX_MS = 60_000;

export class NextLook {
  readonly #timer: Timer;
  readonly #look: () => void;
  /** In the past if no timer is set. */
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(timer: Timer, look: () => void) {
    this.#timer = timer;
    this.#look = look;
  }

  /** Looks at this time, or earlier. */
  at(untilMs: number): void {
    const nowMs = this.#timer.nowMs();
    const atMs = Math.min(untilMs, nowMs + LOOK_AGAIN_MAX_MS);
    if (this.#atMs > nowMs && this.#atMs <= atMs) return;
    this.#atMs = atMs;
    this.#timer.after(atMs - nowMs, () => {
      // The timer may fire before this time on this clock; the time is then set again.
      this.#atMs = Number.NEGATIVE_INFINITY;
      this.#look();
    });
  }
}

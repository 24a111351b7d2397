/**
 * A time limit for waiting for another system. Delays of this process do not count toward it: while the event loop is
 * blocked, or the process gets no CPU time, the process cannot read a response that has arrived.
 *
 *   a step of the wait                             counted time
 *   ended on time                                  its length
 *   ended late, because the loop was blocked       at most twice its length
 *   ended late, and the limit is reached           the same, but responses that have arrived are read
 *                                                  first: the limit is reached in the next step
 */

const STEPS = 20;
const STEP_MIN_MS = 10;

/** Adds up the time of the steps that counts toward the limit. */
export class HeardTime {
  readonly stepMs: number;
  readonly #limitMs: number;
  #heardMs = 0;
  #lastMs: number;

  constructor(limitMs: number, nowMs: number) {
    this.#limitMs = limitMs;
    this.stepMs = Math.max(STEP_MIN_MS, limitMs / STEPS);
    this.#lastMs = nowMs;
  }

  /** Call at the end of each step. Returns `true` if the limit has been reached. */
  isOver(nowMs: number): boolean {
    if (this.#heardMs >= this.#limitMs) return true;
    const tookMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#heardMs += Math.min(tookMs, 2 * this.stepMs);
    return this.#heardMs >= this.#limitMs && tookMs <= 2 * this.stepMs;
  }
}

interface HearingLimit extends Disposable {
  /** Aborts with a `TimeoutError` when the limit has been reached, or when the given signal aborts. */
  readonly signal: AbortSignal;
}

/** The limit starts immediately, and the caller disposes it. @param ended if this signal aborts, so does that of the limit. */
export function hearingLimit(limitMs: number, ended?: AbortSignal): HearingLimit {
  const over = new AbortController();
  const heard = new HeardTime(limitMs, performance.now());
  const step = setInterval(() => {
    if (!heard.isOver(performance.now())) return;
    clearInterval(step);
    over.abort(new DOMException(`no response within ${limitMs / 1_000} s`, "TimeoutError"));
  }, heard.stepMs).unref();
  const signal = ended === undefined ? over.signal : AbortSignal.any([ended, over.signal]);
  return { signal, [Symbol.dispose]: () => clearInterval(step) };
}

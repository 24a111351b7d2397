/**
 * A time limit for waiting on another system that does not count the slowness of this process: while its
 * event loop is blocked, or the machine gives it no CPU, it cannot read a response that has arrived.
 *
 *   a step of the wait                             counts
 *   ended on time                                  its length
 *   ended late, because the loop was blocked       at most twice its length
 *   ended late, which reached the limit            the same, but responses that have arrived are read
 *                                                  first: the limit is over with the next step
 */

const STEPS = 20;
const STEP_MIN_MS = 10;

/** Counts the steps. */
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

  /** Called at the end of each step. Returns `true` if the limit is over. */
  isOver(nowMs: number): boolean {
    if (this.#heardMs >= this.#limitMs) return true;
    const tookMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#heardMs += Math.min(tookMs, 2 * this.stepMs);
    return this.#heardMs >= this.#limitMs && tookMs <= 2 * this.stepMs;
  }
}

interface HearingLimit extends Disposable {
  /** Aborts with a `TimeoutError` when the limit is over. */
  readonly signal: AbortSignal;
}

/** Starts immediately. Dispose it when it is no longer needed. */
export function hearingLimit(limitMs: number): HearingLimit {
  const over = new AbortController();
  const heard = new HeardTime(limitMs, performance.now());
  const step = setInterval(() => {
    if (!heard.isOver(performance.now())) return;
    clearInterval(step);
    over.abort(new DOMException(`no response within ${limitMs / 1_000} s`, "TimeoutError"));
  }, heard.stepMs).unref();
  return { signal: over.signal, [Symbol.dispose]: () => clearInterval(step) };
}

/**
 * A limit for the wait on somebody else, in which the slowness of this process does not count: while
 * its event loop is blocked, or the machine gives it no CPU, it hears no answer that has come.
 *
 *   a step of the wait                             counts as
 *   ended in time                                  its length
 *   ended late: the loop was blocked meanwhile     twice its length at most
 *   ended late, and the limit was reached by it    the same, but what has come is heard first: the
 *                                                  limit is over with the next step
 */

const STEPS = 20;
const STEP_MIN_MS = 10;

/** Counts the steps. Pure. */
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

  /** With the end of a step. Whether the limit is over. */
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

/** Begins at once. To be disposed when it is not needed any more. */
export function hearingLimit(limitMs: number): HearingLimit {
  const over = new AbortController();
  const heard = new HeardTime(limitMs, performance.now());
  const step = setInterval(() => {
    if (!heard.isOver(performance.now())) return;
    clearInterval(step);
    over.abort(new DOMException(`no answer within ${limitMs / 1_000} s`, "TimeoutError"));
  }, heard.stepMs).unref();
  return { signal: over.signal, [Symbol.dispose]: () => clearInterval(step) };
}

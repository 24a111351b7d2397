/**
 * When this process stood still, on a machine with too much to do. The endpoints' requests of such a
 * time are noted and answered late, so nobody knows whether they came early or late. One that was answered
 * very late has been given up meanwhile, and comes again. `starvation.ts` has the same of the programs.
 */

import { TIMEOUT_MS } from "./setup.ts";

export interface Stall {
  readonly fromMs: number;
  /** When all was noted that had come in meanwhile. */
  readonly toMs: number;
  readonly ms: number;
}

export interface StallWatch extends Disposable {
  readonly stalls: readonly Stall[];
}

const STEP_MS = 50;
const LONG_MS = 400;
const CAUGHT_UP_MS = 1_000;
/** Together with what else may be slow, it is as long as a program waits for an answer. */
export const DEAD_LETTERED_MS = TIMEOUT_MS / 3;

export function watchStalls(): StallWatch {
  const stalls: Stall[] = [];
  let lastMs = Date.now();
  const timer = setInterval(() => {
    const nowMs = Date.now();
    const ms = nowMs - lastMs;
    if (ms > LONG_MS) stalls.push({ fromMs: lastMs, toMs: nowMs + CAUGHT_UP_MS, ms });
    lastMs = nowMs;
  }, STEP_MS);
  return { stalls, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Whether one of the requests was under way in a stall, or in one of at least so many milliseconds. */
export function isNotedLate(
  requests: readonly { readonly atMs: number; readonly endAtMs: number }[],
  stalls: readonly Stall[],
  leastMs = 0,
): boolean {
  return requests.some(({ atMs, endAtMs }) =>
    stalls.some(({ fromMs, toMs, ms }) => ms >= leastMs && endAtMs >= fromMs && atMs <= toMs),
  );
}

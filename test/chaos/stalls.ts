/**
 * Detects times in which this process stalled because the machine was overloaded. Requests of such times are recorded
 * late and get late responses, so it is unknown whether they arrived early or late. If a response was very late, the
 * request has timed out meanwhile and is repeated. `starvation.ts` does the same for the programs.
 */

import { TIMEOUT_MS } from "./setup.ts";

export interface Stall {
  readonly fromMs: number;
  /** The time by which everything that had arrived meanwhile was recorded. */
  readonly toMs: number;
  readonly ms: number;
}

export interface StallWatch extends Disposable {
  readonly stalls: readonly Stall[];
}

const STEP_MS = 50;
const LONG_MS = 400;
const CAUGHT_UP_MS = 1_000;
/** A stall of this length, with other delays added, may exceed the time for which a program waits for a response. */
export const TOO_LONG_MS = TIMEOUT_MS / 3;

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

/** True if one of the requests was in progress during a stall of at least this many milliseconds. */
export function isNotedLate(
  requests: readonly { readonly atMs: number; readonly endAtMs: number }[],
  stalls: readonly Stall[],
  leastMs = 0,
): boolean {
  return requests.some(({ atMs, endAtMs }) =>
    stalls.some(({ fromMs, toMs, ms }) => ms >= leastMs && endAtMs >= fromMs && atMs <= toMs),
  );
}

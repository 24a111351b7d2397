/** Waits for code with its own pauses without real delays: timers are vitest's, I/O is real. */

import { setImmediate } from "node:timers/promises";
import { expect, vi } from "vitest";

/** Until `vi.useRealTimers`. */
export function stepTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
}

/** So small that what a test does next comes before a pause is over. */
const STEP_MS = 10;
/** Many pauses: what comes to nothing in them never will. */
const STEPS_MAX = 5_000;

export async function until(isSo: () => boolean): Promise<void> {
  for (let steps = 0; !isSo(); steps += 1) {
    expect(steps).toBeLessThan(STEPS_MAX);
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await setImmediate();
  }
}

export async function ended<Result>(underWay: Promise<Result>): Promise<Result> {
  let isEnded = false;
  const end = () => {
    isEnded = true;
  };
  underWay.then(end, end);
  await until(() => isEnded);
  return await underWay;
}

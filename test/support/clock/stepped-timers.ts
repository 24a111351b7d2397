/** Waits for code with pauses without real delays: timers are vitest's, and I/O is real. */

import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, vi } from "vitest";

/** Fakes timers until `vi.useRealTimers` is called. */
export function stepTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
}

/** Fakes timers in each test of a file. @param fake by default, everything is faked. */
export function inEachTest(fake: () => void = () => vi.useFakeTimers()): void {
  beforeEach(() => fake());
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Small enough for a test to act before a pause is over. */
const STEP_MS = 10;
/** Longer than many pauses. What has not happened by then never will. */
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

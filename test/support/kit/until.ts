/** Waits for a condition. */

import { setTimeout as timer } from "node:timers/promises";

export interface UntilOptions {
  readonly limitMs: number;
  /** The time between two checks; by default, 100 ms. */
  readonly everyMs?: number;
}

/** Checks repeatedly until the condition holds, or the time is over. Returns whether it holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { limitMs, everyMs = 100 }: UntilOptions,
): Promise<boolean> {
  const endMs = Date.now() + limitMs;
  while (!(await holds())) {
    if (Date.now() > endMs) return false;
    await timer(everyMs);
  }
  return true;
}

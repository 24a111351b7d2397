/** Advances a manual clock while a test waits for something. */

import { setImmediate as otherWork } from "node:timers/promises";

import type { ManualClock } from "./manual-clock.ts";

export interface ClockDriver {
  /** Advances the clock until the condition is true. */
  readonly until: (holds: () => boolean) => Promise<void>;
  /** Advances the clock until the promise is settled, and resolves or rejects with the same result. */
  readonly during: <Value>(promise: Promise<Value>) => Promise<Value>;
}

export interface DriverOptions {
  /** Time limit by this clock; a longer wait fails. */
  readonly limitMs?: number;
  /** Turns of the event loop between two steps, for work that the clock would otherwise overtake. */
  readonly turns?: number;
}

export function clockDriver(clock: ManualClock, options: DriverOptions = {}): ClockDriver {
  const { limitMs = 600_000, turns = 0 } = options;
  const until = async (holds: () => boolean) => {
    const untilMs = clock.nowMs() + limitMs;
    while (!holds()) {
      for (let turn = 0; turn < turns && !holds(); turn += 1) await otherWork();
      await clock.advanceToNext();
      if (clock.nowMs() > untilMs) throw new Error("the condition never held");
    }
  };
  const during = async <Value>(promise: Promise<Value>) => {
    let isSettled = false;
    const note = () => {
      isSettled = true;
    };
    promise.then(note, note);
    await until(() => isSettled);
    return promise;
  };
  return { until, during };
}

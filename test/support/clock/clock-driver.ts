/** Advances a manual clock while a test waits for something. */

import { setImmediate as otherWork } from "node:timers/promises";

import type { ManualClock } from "./manual-clock.ts";

export interface ClockDriver {
  /** Moves the clock on until the condition holds. */
  readonly until: (holds: () => boolean) => Promise<void>;
  /** Moves the clock on until the promise is settled, and resolves or rejects as it does. */
  readonly during: <Value>(promise: Promise<Value>) => Promise<Value>;
}

export interface DriverOptions {
  /** On the clock; waiting for longer fails. */
  readonly limitMs?: number;
  /** Turns of the event loop between two moves, for what would be overtaken by the clock. */
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

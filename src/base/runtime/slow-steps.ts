/** Tracks the steps of a stage that are in progress, so that slow ones can be reported. */

import type { Clock } from "./clock.ts";

export interface SlowSteps {
  /**
   * Returns the result of `step`, which is tracked until it has settled.
   *
   * @param what the start of a sentence that is true while the step lasts, such as `the brokers have not acknowledged a
   * write`.
   */
  during<Value>(what: string, step: Promise<Value>): Promise<Value>;
  /** If the step that has lasted longest is slow, returns a sentence about this step. */
  healthProblems(): readonly string[];
}

/** @param slowMs a step that lasts this long or longer is reported. */
export function watchSlowSteps(clock: Pick<Clock, "nowMs">, slowMs: number): SlowSteps {
  const inFlight = new Set<{ readonly what: string; readonly beganAtMs: number }>();
  return {
    during: async (what, step) => {
      const wait = { what, beganAtMs: clock.nowMs() };
      inFlight.add(wait);
      try {
        return await step;
      } finally {
        inFlight.delete(wait);
      }
    },
    healthProblems: () => {
      // A set keeps the order of insertion, so its first step has lasted longest.
      const [longest] = inFlight;
      if (longest === undefined) return [];
      const waitedMs = clock.nowMs() - longest.beganAtMs;
      return waitedMs < slowMs ? [] : [`${longest.what} for ${Math.round(waitedMs / 1_000)} s`];
    },
  };
}

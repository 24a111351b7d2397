/** The steps of a stage that are under way, so that one that takes long can be told of. */

import type { Clock } from "./clock.ts";

export interface SlowSteps {
  /**
   * Gives the step back, and remembers it until it is settled.
   *
   * @param what has not happened as long as it goes on: the beginning of a sentence, such as
   *   `the brokers have not acknowledged a write`.
   */
  during<Value>(what: string, step: Promise<Value>): Promise<Value>;
  /** A sentence about the step that waits longest, if it does so for long. */
  healthProblems(): readonly string[];
}

/** @param slowMs a step that takes as long is trouble. */
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
      // A set keeps its order, so the first one has waited longest.
      const [longest] = inFlight;
      if (longest === undefined) return [];
      const waitedMs = clock.nowMs() - longest.beganAtMs;
      return waitedMs < slowMs ? [] : [`${longest.what} for ${Math.round(waitedMs / 1_000)} s`];
    },
  };
}

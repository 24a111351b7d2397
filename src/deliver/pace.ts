/**
 * Spaces things evenly: at most so many a second, without a burst after a pause.
 *
 *   since the last one                     the next one
 *   its share of a second or more          at once
 *   less                                   when the share is over
 *
 * Timers fire a little late. What was lost that way, up to `CATCH_UP_MS`, may be made up for.
 */

const CATCH_UP_MS = 5;

export interface Pace {
  /** How long to wait before the next one; 0 when it may go now. */
  waitMs(nowMs: number): number;
  /** Counts so many as gone. */
  take(nowMs: number, count: number): void;
}

/** @param perSecond above 0; null: no limit. */
export function createPace(perSecond: number | null): Pace {
  if (perSecond === null) return { waitMs: () => 0, take: () => undefined };
  const shareMs = 1_000 / perSecond;
  let nextAtMs = Number.NEGATIVE_INFINITY;
  return {
    // A clock set back must not stop everything: no wait is longer than what was taken asks for.
    waitMs: (nowMs) => Math.max(0, nextAtMs - nowMs),
    take: (nowMs, count) => {
      nextAtMs = Math.max(nextAtMs, nowMs - CATCH_UP_MS) + shareMs * count;
    },
  };
}

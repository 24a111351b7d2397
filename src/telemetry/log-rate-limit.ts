/**
 * A limit on log lines of one kind, so that a flood of bad records is no flood of lines. Metrics
 * count all of them.
 */

export interface LineLimit {
  /**
   * Null: leave this line out. A number: write it, and say that so many were left out since the
   * last one written.
   */
  admit(nowMs: number): number | null;
}

/** @param linesPerSecond at least 1. */
export function lineLimit(linesPerSecond: number): LineLimit {
  let secondBeganAtMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let skipped = 0;
  return {
    admit: (nowMs) => {
      // A clock that was set back begins a new second too.
      if (Math.abs(nowMs - secondBeganAtMs) >= 1_000) {
        secondBeganAtMs = nowMs;
        lines = 0;
      }
      if (lines >= linesPerSecond) {
        skipped += 1;
        return null;
      }
      lines += 1;
      const skippedBefore = skipped;
      skipped = 0;
      return skippedBefore;
    },
  };
}

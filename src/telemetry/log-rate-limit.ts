/** Limits log lines of one kind, so that a flood of bad records does not flood the log. Metrics count every record. */

export interface LineLimit {
  /**
   * Null if this line is to be omitted. Otherwise, the number of lines omitted since the last line that was written.
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
      // If the clock was set back, a new second starts too.
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

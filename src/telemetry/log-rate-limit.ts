/**
 * Limits how often log lines of one kind are written, so that a flood of bad records does not flood the log. Metrics
 * still count every record.
 */

export interface LineLimit {
  /**
   * Returns null if this line must be omitted. Otherwise, returns the number of lines that were omitted since the last
   * line was written.
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
      // A new second also starts if the clock was set back.
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

/**
 * Limits how often log lines of one kind are written, so that a flood of bad records does not flood the log. Metrics
 * still count every record.
 */

export class LineLimit {
  readonly #linesPerSecond: number;
  #secondBeganAtMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #skipped = 0;

  /** @param linesPerSecond at least 1. */
  constructor(linesPerSecond: number) {
    this.#linesPerSecond = linesPerSecond;
  }

  /**
   * Returns null if this line must be omitted. Otherwise, returns the number of lines that were omitted since the last
   * line was written.
   */
  admit(nowMs: number): number | null {
    // A new second also starts if the clock was set back.
    if (Math.abs(nowMs - this.#secondBeganAtMs) >= 1_000) {
      this.#secondBeganAtMs = nowMs;
      this.#lines = 0;
    }
    if (this.#lines >= this.#linesPerSecond) {
      this.#skipped += 1;
      return null;
    }
    this.#lines += 1;
    const skippedBefore = this.#skipped;
    this.#skipped = 0;
    return skippedBefore;
  }
}

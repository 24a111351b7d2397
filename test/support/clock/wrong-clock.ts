/** Runs a Node program with a wrong clock (`shifted-date.ts`). */

import { join } from "node:path";

const SHIFTED_DATE = join(import.meta.dirname, "shifted-date.ts");

/** The words before the command that is run. @param offsetMs how far the clock is ahead of the real one. */
export function wrongClock(offsetMs: number): readonly string[] {
  return ["env", `SHIFTED_BY_MS=${offsetMs}`, `NODE_OPTIONS=--import=${SHIFTED_DATE}`];
}

/** Like `wrongClock`, but the file contains the current offset. */
export function settableClock(file: string): readonly string[] {
  return ["env", `SHIFTED_BY_FILE=${file}`, `NODE_OPTIONS=--import=${SHIFTED_DATE}`];
}

/** Runs a Node program with a wrong clock (`shifted-date.ts`). */

import { join } from "node:path";

const SHIFTED_DATE = join(import.meta.dirname, "shifted-date.ts");

/** The words of a command, before the one that it runs. @param offsetMs ahead of the real clock. */
export function wrongClock(offsetMs: number): readonly string[] {
  return ["env", `SHIFTED_BY_MS=${offsetMs}`, `NODE_OPTIONS=--import=${SHIFTED_DATE}`];
}

/** The same. The file says how far ahead it is at the moment. */
export function settableClock(file: string): readonly string[] {
  return ["env", `SHIFTED_BY_FILE=${file}`, `NODE_OPTIONS=--import=${SHIFTED_DATE}`];
}

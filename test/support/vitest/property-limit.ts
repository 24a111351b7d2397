/**
 * How long a property may take. It ends by a time of its own: a busy machine generates fewer
 * inputs, and no test fails for that. Too few are a failure, for they would find nothing.
 *
 *   failed                                  throws, with the input and the seed
 *   ended by the time, with enough inputs   goes well
 *   ended by the time, with fewer           throws, and says how many there were
 *
 * The clock is the machine's: fast-check keeps it when it is loaded, so a test may fake timers.
 */

import fc, { type RunDetails } from "fast-check";

export const PROPERTY_MAX_MS = 5_000;
/** One in this many of the requested inputs is sufficient. */
const ENOUGH = 500;

export function reportProperty(run: RunDetails<unknown>): void {
  const asked = run.runConfiguration.numRuns ?? 0;
  const enough = Math.ceil(asked / ENOUGH);
  if (run.interrupted && run.counterexample === null && run.numRuns < enough) {
    throw new Error(
      `after ${PROPERTY_MAX_MS} ms the property had seen ${run.numRuns} of ${asked} inputs; ${enough} are enough`,
    );
  }
  if (run.failed) throw new Error(fc.defaultReportMessage(run), { cause: run.errorInstance });
}

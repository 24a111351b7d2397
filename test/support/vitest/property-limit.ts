/**
 * Limits the time of a property. On a busy machine, a property ends after this time with fewer inputs, and its test
 * still passes. Too few inputs are a failure, because they would find nothing.
 *
 *   failed                                  throws, with the input and the seed
 *   ended by the limit, with enough inputs  passes
 *   ended by the limit, with fewer          throws an error with the number of inputs
 *
 * The time is that of the machine: fast-check stores the real clock when it is loaded, so tests may fake timers.
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

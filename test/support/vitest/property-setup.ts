/**
 * Vitest's set-up of unit and property tests: a property takes as many inputs as
 * `generated-inputs.ts` says, unless it names a number itself, and not longer than
 * `property-limit.ts` says.
 */

import fc from "fast-check";

import { GENERATED_INPUTS } from "../build/generated-inputs.ts";
import { PROPERTY_MAX_MS, reportProperty } from "./property-limit.ts";

fc.configureGlobal({
  numRuns: GENERATED_INPUTS,
  interruptAfterTimeLimit: PROPERTY_MAX_MS,
  markInterruptAsFailure: false,
  reporter: reportProperty,
});

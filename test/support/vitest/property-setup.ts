/**
 * Vitest's setup of unit and property tests: a property uses the number of inputs from `generated-inputs.ts`, unless it
 * sets its own, and the time limit from `property-limit.ts`.
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

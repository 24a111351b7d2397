/**
 * Vitest's set-up of unit and property tests: a property takes as many inputs as
 * `generated-inputs.ts` says, unless it names a number itself.
 */

import fc from "fast-check";

import { GENERATED_INPUTS } from "./generated-inputs.ts";

fc.configureGlobal({ numRuns: GENERATED_INPUTS });

/** Compiles the conditions of rules, which are written in the filter language. */

import assert from "node:assert/strict";

import { type CallValue, compileFilter } from "./fql/compile.ts";

/** Null for all calls. */
export type Condition = ((call: CallValue) => boolean) | null;

/** @param text a condition. It is valid, because conditions are checked when the configuration is read. */
export function compiledCondition(text: string | null): Condition {
  if (text === null) return null;
  const compiled = compileFilter(text);
  assert(compiled.kind === "filter", "the condition of a rule was not checked");
  return compiled.matches;
}

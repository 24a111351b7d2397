/** Compiles the conditions of rules, which are written in the filter language. */

import assert from "node:assert/strict";

import type { Call } from "../../domain/call.ts";
import type { MessageId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { type CallValue, compileFilter } from "./fql/compile.ts";
import type { JsonValue } from "./json-value.ts";
import type { ActionsResult, RuleActions } from "./plan.ts";

/** The parts of a call that rules use. */
export interface RuleCall {
  readonly call: Call;
  /**
   * The result of JSON.parse, except that IDs which were sent as numbers may be strings of their digits
   * (`exact-ids.ts`).
   */
  readonly json: JsonObject;
  readonly bytes: Buffer;
  readonly messageId: MessageId;
  /** The call's JSON as a value that is never changed. Each destination changes a copy of its own. */
  readonly value: () => JsonValue;
  /** The results so far. */
  readonly results: Map<RuleActions, ActionsResult>;
}

/** Null for all calls. */
export type Condition = ((call: CallValue) => boolean) | null;

/** @param text a condition. It is valid, because conditions are checked when the configuration is read. */
export function compiledCondition(text: string | null): Condition {
  if (text === null) return null;
  const compiled = compileFilter(text);
  assert(compiled.kind === "filter", "the condition of a rule was not checked");
  return compiled.matches;
}

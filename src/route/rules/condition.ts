/** Conditions of rules: a text in the filter language to a function of a call. */

import assert from "node:assert/strict";

import type { Call } from "../../domain/call.ts";
import type { MessageId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { type CallValue, compileFilter } from "./fql/compile.ts";
import type { JsonValue } from "./json-value.ts";

/** Of a call, what rules look at. */
export interface RuleCall {
  readonly call: Call;
  /** As JSON.parse made it of the bytes, identifiers with their digits. */
  readonly json: JsonObject;
  readonly bytes: Buffer;
  readonly messageId: MessageId;
  /** The bytes as a value that is never changed: destinations change copies of it. */
  readonly value: () => JsonValue;
}

/** Null: all calls. */
export type Condition = ((call: CallValue) => boolean) | null;

/** @param text was checked when the configuration was read. */
export function compiledCondition(text: string | null): Condition {
  if (text === null) return null;
  const compiled = compileFilter(text);
  assert(compiled.kind === "filter", "the condition of a rule was not checked");
  return compiled.matches;
}

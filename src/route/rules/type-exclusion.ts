/**
 * Decides whether a rule with a condition applies to delete notifications, which have the type `delete`:
 *
 *   condition                              the rule applies
 *   none                                   yes
 *   reads only the type                    if the condition matches that type
 *   anything else                          no
 *
 * Decides also whether a condition can never match calls of a given type. That decision is based on the comparisons with
 * `type` in the condition.
 *
 *   part of the condition       never matches                always matches, unless the whole condition is invalid for a call
 *   type = 'track'              calls of another type        calls of that type
 *   type != 'track'             calls of that type           calls of another type
 *   type in ['track', 'page']   calls of other types         calls of these types
 *   a and b                     if one part never matches    if both parts always match
 *   a or b                      if both parts never match    if one part always matches
 *   !a                          if a always matches          if a never matches
 *   anything else               unknown                      unknown
 */

import type { CallType } from "../../domain/call.ts";
import { compileFilter, partsOf } from "./fql/compile.ts";
import { type Expression, parse } from "./fql/parse.ts";

export function matchesDeletes(condition: string | null): boolean {
  if (condition === null) return true;
  const expression = parse(condition);
  if (expression.kind === "problem") return false;
  const isOfType = [...partsOf(expression)].every((part) => part.kind !== "path" || isType(part));
  const compiled = compileFilter(condition);
  return isOfType && compiled.kind === "filter" && compiled.matches(NOTIFICATION);
}

const NOTIFICATION = { json: { type: "delete" }, bytes: Buffer.from('{"type":"delete"}') };

export function excludesType(condition: string, type: CallType): boolean {
  const expression = parse(condition);
  return expression.kind !== "problem" && is("never", expression, type);
}

function is(when: "never" | "always", expression: Expression, type: CallType): boolean {
  const other = when === "never" ? "always" : "never";
  switch (expression.kind) {
    case "literal":
      return expression.value === (when === "always");
    case "not":
      return is(other, expression.operand, type);
    case "and":
    case "or": {
      const isEnough = (expression.kind === "and") === (when === "never");
      const { operands } = expression;
      return isEnough
        ? operands.some((operand) => is(when, operand, type))
        : operands.every((operand) => is(when, operand, type));
    }
    case "comparison": {
      const result = comparesType(expression, type);
      return result !== null && result === (when === "always");
    }
    case "path":
    case "list":
    case "function":
      return false;
  }
}

/** Returns null unless the expression compares `type` with a string. */
function comparesType(
  { operator, left, right }: Extract<Expression, { readonly kind: "comparison" }>,
  type: CallType,
): boolean | null {
  if (operator === "in") {
    if (!isType(left) || right.kind !== "list") return null;
    const { entries } = right;
    if (entries.some((entry) => entry.kind !== "literal")) return null;
    return entries.some((entry) => entry.kind === "literal" && entry.value === type);
  }
  if (operator !== "=" && operator !== "!=") return null;
  const [path, given] = isType(left) ? [left, right] : [right, left];
  if (!isType(path) || given.kind !== "literal") return null;
  return (given.value === type) === (operator === "=");
}

function isType(expression: Expression): boolean {
  return (
    expression.kind === "path" && expression.names.length === 1 && expression.names[0] === "type"
  );
}

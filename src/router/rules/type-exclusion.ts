/**
 * Decides whether a condition can never match calls of a given type, or always matches delete notifications, which have
 * the type `delete`. Only the parts of the condition that read nothing but the type are evaluated.
 *
 *   part of the condition        never matches                always matches
 *   reads only the type          if it is false or null       if it is true
 *   a and b                      if one part never matches    if both parts always match
 *   a or b                       if both parts never match    if one part always matches
 *   !a                           if a always matches          if a never matches
 *   anything else                unknown                      unknown
 */

import type { CallType } from "../../domain/call.ts";
import { evaluated, partsOf } from "./fql/compile.ts";
import { type Expression, parse } from "./fql/parse.ts";

export function excludesType(condition: string, type: CallType): boolean {
  const expression = parse(condition);
  return expression.kind !== "problem" && is("never", expression, type);
}

/** Returns true if a rule with this condition applies to delete notifications. @param condition null for no condition. */
export function matchesDeletes(condition: string | null): boolean {
  const expression = parse(condition ?? "true");
  return expression.kind !== "problem" && is("always", expression, "delete");
}

function is(when: "never" | "always", expression: Expression, type: CallType | "delete"): boolean {
  if (expression.kind === "not") {
    return is(when === "never" ? "always" : "never", expression.operand, type);
  }
  if (expression.kind === "and" || expression.kind === "or") {
    const isEnough = (expression.kind === "and") === (when === "never");
    const { operands } = expression;
    return isEnough
      ? operands.some((operand) => is(when, operand, type))
      : operands.every((operand) => is(when, operand, type));
  }
  const parts = [...partsOf(expression)];
  if (parts.some((part) => part.kind === "path" && part.names.join() !== "type")) return false;
  const value = evaluated(expression, { type });
  return when === "always" ? value === true : value === false || value === null;
}

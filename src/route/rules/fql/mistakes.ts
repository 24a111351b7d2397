/**
 * Finds the first part of a valid condition that never means what it seems to mean. A configuration with such a
 * condition is rejected.
 *
 *   part                                             example
 *   a path that starts like a field of a call        Properties.total, user_id = 'u'
 *   a path of one name instead of a comparison       all, True
 *   a comparison of `type` with anything but a type  type = 'Track'
 *
 * A backslash in a path shows that it is meant as it is written.
 */

import { CALL_TYPES } from "../../../domain/call.ts";
import { nearest } from "../../../domain/nearest.ts";
import { ESCAPE_HINT, meantField } from "../path.ts";
import { type InvalidFilter, insideOf, invalid, partsOf } from "./compile.ts";
import { type Expression, parse } from "./parse.ts";

/** Delete notifications have the type `delete`. */
const TYPES = [...CALL_TYPES, "delete"];

export function mistakeIn(text: string): InvalidFilter | null {
  const whole = parse(text);
  if (whole.kind === "problem") return null;
  const written = ({ start, end }: Expression) => text.slice(start, end);
  const mistake = (part: Expression, expected: string, hint: string | null) =>
    invalid(text, { at: part.start, found: `\`${written(part)}\``, expected, hint });
  const parts = [...partsOf(whole)];
  const joints = parts.filter(({ kind }) => kind === "not" || kind === "and" || kind === "or");
  for (const part of [whole, ...joints.flatMap(insideOf)]) {
    if (part.kind !== "path" || part.names.length > 1 || written(part).includes("\\")) continue;
    return mistake(part, "a comparison", insteadOf(written(part)));
  }
  for (const part of parts) {
    const meant = part.kind === "path" ? meantField(part.names, written(part)) : null;
    if (meant !== null) return mistake(part, `a path such as ${meant}`, ESCAPE_HINT);
    const type = part.kind === "comparison" ? comparedType(part) : undefined;
    if (type === undefined) continue;
    const near = type.kind === "literal" ? nearest(`${type.value}`, TYPES) : null;
    return mistake(type, `one of ${TYPES.join(", ")}`, near && `did you mean '${near}'?`);
  }
  return null;
}

function insteadOf(word: string): string {
  const lower = word.toLowerCase();
  if (["true", "false", "null"].includes(lower)) return `write ${lower}`;
  return `omit the condition if it is to match all calls; otherwise, write ${word} = true, or ${word} != null`;
}

/** Returns the first constant that is compared with `type` although it is not a type. */
function comparedType({
  left,
  right,
}: Extract<Expression, { readonly kind: "comparison" }>): Expression | undefined {
  const sides = [left, right].flatMap((side) => (side.kind === "list" ? side.entries : [side]));
  if (!sides.some((side) => side.kind === "path" && side.names.join() === "type")) return undefined;
  return sides.find(
    (side) => side.kind === "literal" && side.value !== null && !TYPES.includes(`${side.value}`),
  );
}

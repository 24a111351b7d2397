/**
 * Finds the first part of a valid condition that never means what it seems to mean. A backslash in a path shows that it
 * is meant as it is written.
 *
 *   a path that starts nearly like a field           Properties.total, user_id = 'u'
 *   a path of one name instead of a comparison       all, True
 *   a comparison of `type` with anything but a type  type = 'Track'
 */

import { CALL_TYPES } from "../../domain/call.ts";
import { nearest } from "../../domain/nearest.ts";
import { type InvalidFilter, insideOf, invalid, partsOf } from "./fql/compile.ts";
import { type Expression, parse } from "./fql/parse.ts";
import { ESCAPE_HINT, meantField } from "./path.ts";

/** Delete notifications have the type `delete`. */
const TYPES: readonly unknown[] = [...CALL_TYPES, "delete", null];

export function mistakeIn(text: string): InvalidFilter | null {
  const whole = parse(text);
  if (whole.kind === "problem") return null;
  const written = ({ start, end }: Expression) => text.slice(start, end);
  const mistake = (part: Expression, expected: string, hint: string | null) =>
    invalid(text, { at: part.start, found: `\`${written(part)}\``, expected, hint });
  const parts = [...partsOf(whole)];
  const joints = parts.filter(({ kind }) => kind === "not" || kind === "and" || kind === "or");
  for (const part of [whole, ...joints.flatMap(insideOf)]) {
    const isWord = part.kind === "path" && part.names.length === 1 && !written(part).includes("\\");
    if (isWord) return mistake(part, "a comparison", insteadOf(written(part)));
  }
  for (const part of parts) {
    const meant = part.kind === "path" ? meantField(part.names, written(part)) : null;
    if (meant !== null) return mistake(part, `a path such as ${meant}`, ESCAPE_HINT);
    const sides = part.kind === "comparison" ? [part.left, part.right] : [];
    if (!sides.some((side) => side.kind === "path" && side.names.join() === "type")) continue;
    const compared = sides.flatMap((side) => (side.kind === "list" ? side.entries : [side]));
    for (const side of compared) {
      if (side.kind !== "literal" || TYPES.includes(side.value)) continue;
      const near = nearest(`${side.value}`, CALL_TYPES);
      return mistake(side, `one of ${CALL_TYPES.join(", ")}`, near && `did you mean '${near}'?`);
    }
  }
  return null;
}

function insteadOf(word: string): string {
  const lower = word.toLowerCase();
  if (["true", "false", "null"].includes(lower)) return `write ${lower}`;
  return `omit the condition if it is to match all calls; otherwise, write ${word} = true, or ${word} != null`;
}

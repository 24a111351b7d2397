/**
 * Creates the form in which the last value of a trait is stored, to compare it with the next value. Short values are
 * stored unchanged, longer ones as their SHA-256. The order of keys in objects does not matter.
 */

import { createHash } from "node:crypto";

const VERBATIM_CHARS_MAX = 40;

export function keptValue(value: unknown): string {
  const text = canonicalJson(value);
  if (text.length <= VERBATIM_CHARS_MAX) return `=${text}`;
  return `#${createHash("sha256").update(text).digest("base64url")}`;
}

function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  const members = entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${members.join(",")}}`;
}

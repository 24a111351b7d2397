/**
 * Reads what a filter needs from a call: the values at paths, and the digits of numbers.
 *
 *   at a path                                    is
 *   nothing, or null                             null
 *   anything inside a list, a string, a scalar   null
 *   an ID that was sent as a number, and         the number: the filter sees the call as it was sent
 *     that `exact-ids.ts` keeps as a string, even
 *     in a list of IDs
 *   any other value                              as JSON.parse returns it: if a key is repeated, its last value counts
 */

import { isIdField, isIdListField } from "../../../domain/exact-ids.ts";
import { isJsonObject, type JsonObject } from "../../../domain/json.ts";
import { jsonAt } from "../../../domain/scan-json.ts";

/** A call as a filter sees it. */
export interface CallValue {
  /** The value as `decode.ts` decoded it from the bytes. */
  readonly json: JsonObject;
  /** The call's JSON in UTF-8. Called only if a filter needs the digits of a number. */
  readonly bytes: Buffer;
}

export type Evaluate = (call: CallValue) => unknown;

/** Reads only own properties, because every object inherits properties such as `constructor`. */
export function valueAt(names: readonly string[]): Evaluate {
  const [first = "", second] = names;
  if (isIdField(first)) return idAt(names);
  if (isIdListField(first) && second === undefined) return idListAt(first);
  const top = own(first);
  if (second === undefined) return ({ json }) => top(json);
  const below = names.slice(1).map(own);
  const [inner] = below;
  if (inner !== undefined && below.length === 1) return ({ json }) => inner(top(json));
  return ({ json }) => {
    let value = top(json);
    for (const next of below) {
      if (value === null) return null;
      value = next(value);
    }
    return value;
  };
}

function own(name: string): (value: unknown) => unknown {
  // A property whose name is not in `Object.prototype` cannot be inherited, so it is read without `hasOwn`, which
  // would cost more than reading it.
  if (!(name in Object.prototype)) {
    return (value) => (isJsonObject(value) ? (value[name] ?? null) : null);
  }
  return (value) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : null);
}

const DIGITS_FIRST = /^-?[0-9]/;

function idAt(names: readonly string[]): Evaluate {
  const [name = ""] = names;
  if (names.length > 1) {
    const below = names.slice(1).map(own);
    return ({ json }) => below.reduce((value, next) => next(value), own(name)(json));
  }
  return ({ json, bytes }) => {
    const value = json[name] ?? null;
    if (typeof value !== "string" || !DIGITS_FIRST.test(value)) return value;
    const token = jsonAt(bytes, names);
    return token?.startsWith('"') === false ? Number(token) : value;
  };
}

function idListAt(name: string): Evaluate {
  return ({ json, bytes }) => {
    const value = json[name] ?? null;
    const mayBeNumber = (each: unknown) => typeof each === "string" && DIGITS_FIRST.test(each);
    const isRead = Array.isArray(value) && value.some(mayBeNumber);
    return isRead ? JSON.parse(jsonAt(bytes, [name]) ?? "null") : value;
  };
}

/** The digits of the number at a path, as they were sent; null if there is no number. */
export function digitsAt(names: readonly string[]): (call: CallValue) => string | null {
  const value = valueAt(names);
  return (call) => (typeof value(call) === "number" ? jsonAt(call.bytes, names) : null);
}

export type TypeName = "string" | "number" | "list" | "object" | "bool" | "null";

export function typeOf(value: unknown): TypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (typeof value === "string") return "string";
  if (typeof value === "number") return "number";
  return typeof value === "boolean" ? "bool" : "object";
}

/**
 * If the part is longer than this, `includes` may compare each character of the text with each character of the
 * part.
 */
const LONG_UNITS = 250;

/** Returns true if a string contains a part. The time is linear in the sum of both lengths. */
export function includesText(text: string, part: string): boolean {
  if (part.length <= LONG_UNITS || part.length > text.length) return text.includes(part);
  // The table of the Knuth-Morris-Pratt algorithm: how much of the part still matches after a mismatch.
  const again = new Int32Array(part.length);
  for (let at = 1, matched = 0; at < part.length; at += 1) {
    matched = nextMatched(again, part, matched, part.charCodeAt(at));
    again[at] = matched;
  }
  for (let at = 0, matched = 0; at < text.length; at += 1) {
    matched = nextMatched(again, part, matched, text.charCodeAt(at));
    if (matched === part.length) return true;
  }
  return false;
}

function nextMatched(again: Int32Array, part: string, matched: number, unit: number): number {
  let most = matched;
  while (most > 0 && part.charCodeAt(most) !== unit) most = again[most - 1] ?? 0;
  return part.charCodeAt(most) === unit ? most + 1 : most;
}

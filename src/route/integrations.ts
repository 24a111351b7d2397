/**
 * The meaning of a call's `integrations` for one destination's name (docs/calls.md#integrations).
 *
 *   the name's flag     the flag of All     the destination
 *   true                -                   gets the call
 *   false               -                   doesn't
 *   absent              false               doesn't
 *   absent              true or absent      gets the call
 *
 *   a flag's value                          counts as
 *   true, false                             itself
 *   an object (options)                     true
 *   null, a number, text, a list            absent
 *
 * `all`, which some Go clients send, counts as `All` where that is absent. Names are
 * case-sensitive, and those that fit no destination change nothing.
 */

import { isJsonObject, type JsonObject } from "../domain/json.ts";

export type FlagVerdict = "by-default" | "named-true" | "named-false" | "all-false";

export function flagVerdict(integrations: JsonObject | null, name: string): FlagVerdict {
  if (integrations === null) return "by-default";
  const named = flag(integrations, name);
  if (named !== null) return named ? "named-true" : "named-false";
  return namedAlone(integrations) ? "all-false" : "by-default";
}

/** Whether destinations that are not named get nothing. */
export function namedAlone(integrations: JsonObject): boolean {
  return (flag(integrations, "All") ?? flag(integrations, "all")) === false;
}

/** Null: absent. */
function flag(integrations: JsonObject, name: string): boolean | null {
  // A destination may be called `constructor`, and every object has one.
  if (!Object.hasOwn(integrations, name)) return null;
  const value = integrations[name];
  if (typeof value === "boolean") return value;
  return isJsonObject(value) ? true : null;
}

/**
 * Decides what a call's `integrations` mean for a destination with a given name (docs/calls.md#integrations).
 *
 *   flag of the name    flag of All         the destination
 *   true                any                 gets the call
 *   false               any                 does not get it
 *   absent              false               does not get it
 *   absent              true or absent      gets the call
 *
 *   value of a flag                         counts as
 *   true, false                             itself
 *   an object (options)                     true
 *   null, a number, a string, a list        absent
 *
 * `all`, which some Go clients send, counts as `All` if `All` is absent. Names are case-sensitive, and names without a
 * destination have no effect.
 */

import { isJsonObject, type JsonObject } from "../domain/json.ts";

export type FlagVerdict = "by-default" | "named-true" | "named-false" | "all-false";

export function flagVerdict(integrations: JsonObject | null, name: string): FlagVerdict {
  if (integrations === null) return "by-default";
  const named = flag(integrations, name);
  if (named !== null) return named ? "named-true" : "named-false";
  return namedAlone(integrations) ? "all-false" : "by-default";
}

/** True if the call goes only to destinations that `integrations` name. */
export function namedAlone(integrations: JsonObject): boolean {
  return (flag(integrations, "All") ?? flag(integrations, "all")) === false;
}

/** Null if the flag is absent. */
function flag(integrations: JsonObject, name: string): boolean | null {
  // Every object inherits a property `constructor`, and a destination may have that name.
  if (!Object.hasOwn(integrations, name)) return null;
  const value = integrations[name];
  if (typeof value === "boolean") return value;
  return isJsonObject(value) ? true : null;
}

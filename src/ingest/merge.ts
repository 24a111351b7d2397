/**
 * Merges the `context` and `integrations` of a batch with those of one of its calls.
 *
 *   in the batch     in the call       result
 *   an object        absent            the batch's
 *   an object        an empty list     the batch's, because PHP and Lua write a list for an empty map
 *   an object        an object         both, merged member by member by this table
 *   anything else    absent            nothing at the top level; the batch's below it
 *   anything         anything else     the call's, including lists and null
 */

import { isEmptyList, isJsonObject, type JsonObject } from "../domain/json.ts";

/** Returns the merged value, which is nested as deeply as the deeper of the two values. */
export function merge(ofBatch: unknown, ofCall: unknown): unknown {
  if (ofCall === undefined) return ofBatch;
  if (!isJsonObject(ofBatch)) return ofCall;
  if (!isJsonObject(ofCall)) return isEmptyList(ofCall) ? ofBatch : ofCall;
  // Object spread and `defineProperty` create own properties for all names, even for `__proto__`.
  const merged: Record<string, unknown> = { ...ofBatch };
  for (const [name, value] of Object.entries(ofCall)) {
    const inherited = Object.hasOwn(ofBatch, name) ? ofBatch[name] : undefined;
    Object.defineProperty(merged, name, {
      value: merge(inherited, value),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return merged;
}

/** The members that a batch adds to each of its calls; null if it adds none. */
export function mergeable(ofBatch: unknown): JsonObject | null {
  return isJsonObject(ofBatch) && Object.keys(ofBatch).length > 0 ? ofBatch : null;
}

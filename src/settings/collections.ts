/** Reads maps and lists as the YAML parser returns them, and reports a problem for any other value. */

import { isJsonObject } from "../domain/json.ts";
import { nearest } from "../domain/nearest.ts";
import { allValid, type Invalid, type Place } from "./config-path.ts";
import { kindOf } from "./problem.ts";

export interface ListLength {
  readonly min: number;
  readonly max: number;
}

export function readMap(raw: unknown, place: Place): ReadonlyMap<string, unknown> | Invalid {
  if (isJsonObject(raw)) return new Map(Object.entries(raw));
  // Only the kind of value is shown, because the value may be a misplaced secret.
  return place.fail({ found: kindOf(raw), expected: "a map of settings", hint: null });
}

/** Reports unknown keys without their values, which may be secret. */
export function reportUnknown(
  map: ReadonlyMap<string, unknown>,
  known: readonly string[],
  place: Place,
): void {
  for (const key of map.keys()) {
    if (known.includes(key)) continue;
    const similar = nearest(key, known);
    place.child(key).fail({
      found: "an unknown setting",
      expected: `one of ${known.join(", ")}`,
      hint: similar === null ? null : `did you mean ${similar}?`,
    });
  }
}

export function readList<Value>(
  raw: unknown,
  item: { readonly decode: (raw: unknown, place: Place) => Value | Invalid },
  length: ListLength,
  place: Place,
): readonly Value[] | Invalid {
  const most = length.max === Number.POSITIVE_INFINITY ? "" : `, at most ${length.max}`;
  const expected = length.min > 0 ? `a list of at least ${length.min}${most}` : `a list${most}`;
  if (!Array.isArray(raw)) return place.fail({ found: kindOf(raw), expected, hint: null });
  const values = raw.map((entry, index) => item.decode(entry, place.child(index)));
  if (raw.length < length.min || raw.length > length.max) {
    const found = raw.length === 0 ? "an empty list" : `a list of ${raw.length}`;
    return place.fail({ found, expected, hint: null });
  }
  return allValid(values);
}

/** Settings that filters and mapping entries have in common: conditions, sources and paths. */

import { foundAt } from "../../../base/settings/config-path.ts";
import { type Decoder, decoderOf, value, wrong } from "../../../base/settings/decoder.ts";
import { id, listOf, text } from "../../../base/settings/scalars.ts";
import { optional } from "../../../base/settings/setting.ts";
import type { SourceId } from "../../../domain/ids.ts";
import { compileFilter } from "../fql/compile.ts";
import { mistakeIn } from "../mistakes.ts";
import { ESCAPE_HINT, FIELDS, meantPath, parsePath } from "../path.ts";

/** Limits on the number of names or sources in a list. */
export const NAMES = { min: 1, max: 1_000 };

/** Decodes a string that is not empty and has at most `max` characters. */
export function characters(what: string, max: number): Decoder<string> {
  return text(`${what} of 1 to ${max} characters`, (given) =>
    given !== "" && [...given].length <= max ? value(given) : wrong(),
  );
}

export const scope = {
  sources: optional(
    listOf(id<SourceId>(), "source IDs", NAMES),
    "Applies only to calls from these sources.",
  ),
  if: optional(conditionDecoder(), "Applies only to calls that match this condition."),
};

function conditionDecoder(): Decoder<string> {
  const expected = "a condition in the filter language";
  return decoderOf({
    expected,
    json: { type: "string" },
    decode: (raw, place) => {
      if (typeof raw !== "string") return place.fail(foundAt(place, raw), expected);
      const compiled = mistakeIn(raw) ?? compileFilter(raw);
      if (compiled.kind === "invalid") {
        const { found, column, expected: wanted, hint } = compiled;
        return place.fail(`${found} at column ${column}`, wanted, hint);
      }
      for (const warning of compiled.warnings) place.warn(warning);
      return raw;
    },
  });
}

export const path = text("a path such as traits.email", (given) => {
  const [first = "", second] = parsePath(given) ?? [];
  if (first === "") return wrong("a backslash before a dot makes the dot part of a name");
  const meant = meantPath(given);
  if (meant !== null) {
    return wrong(`write ${meant}; in a list, a rule applies to each entry; ${ESCAPE_HINT}`);
  }
  const isScalar = FIELDS.has(first) && FIELDS.get(first) !== "object";
  return second !== undefined && isScalar ? wrong(`${first} has no values inside`) : value(given);
});

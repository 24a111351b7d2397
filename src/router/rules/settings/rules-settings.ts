/**
 * The rules of a destination (docs/rules.md): `consent`, `filters` (`filter-settings.ts`) and `map`
 * (`map-settings.ts`). `rules-checks.ts` checks combinations of rules.
 */

import type { Place } from "../../../base/settings/config-path.ts";
import { type Decoder, decoder, value, wrong } from "../../../base/settings/decoder.ts";
import { flag, listOf, oneOf } from "../../../base/settings/scalars.ts";
import { optional, required, section, setting } from "../../../base/settings/setting.ts";
import { isJsonObject } from "../../../domain/json.ts";
import type { ConsentRule, DestinationRules } from "../../../domain/rules.ts";
import { filterFields, filterFileFields, filtersDecoder } from "./filter-settings.ts";
import { mapDecoder, mapFields } from "./map-settings.ts";
import { characters, NAMES } from "./rule-scope.ts";

const CATEGORY_CHARACTERS_MAX = 34;

const category = characters("a category", CATEGORY_CHARACTERS_MAX);

const consentMap = section(
  "",
  {
    categories: required(
      listOf(category, "categories", NAMES),
      "Categories that the call must grant.",
    ),
    match: setting(
      oneOf("all", "any"),
      "all",
      "How many of the categories must be granted: `all`, or `any` one of them.",
    ),
    required: optional(flag(), "For this destination, replaces the top-level `consent.required`."),
  },
  (values): ConsentRule => values,
);

const consentDecoder: Decoder<ConsentRule> = {
  expected: "a list of categories, or a map with categories, match and required",
  unit: "",
  show: (raw) => raw,
  fromText: (given) => given,
  json: {
    anyOf: [
      { type: "array", items: { type: "string" } },
      {
        type: "object",
        additionalProperties: false,
        properties: {
          categories: { type: ["array", "string"] },
          match: { type: ["string", "null"] },
          required: { type: ["boolean", "null", "string"] },
        },
        required: ["categories"],
      },
    ],
  },
  decode: (raw, place) => {
    const isMap = isJsonObject(raw);
    return consentMap.decode(isMap ? raw : { categories: raw }, isMap ? place : onList(place));
  },
};

/** If `consent` is a list, which is the short form of the map, reports problems at the list. */
function onList(place: Place): Place {
  return { ...place, child: (key) => (key === "categories" ? place : place.child(key)) };
}

/** The settings that destinations of all types have. */
export const rulesSettings = {
  consent: {
    ...optional(
      consentDecoder,
      "Categories that a call must grant. See [Consent](rules.md#consent).",
    ),
    inside: [{ isList: false, fields: consentMap.fields }],
  },
  filters: {
    ...setting(
      filtersDecoder,
      [],
      "Rules that drop or sample calls, or remove properties. See [Filters](rules.md#filters).",
    ),
    inside: [
      { isList: true, fields: filterFields },
      { isList: false, fields: filterFileFields },
    ],
  },
  map: {
    ...setting(
      mapDecoder,
      [],
      "Rules that rename, move, set, hash or remove values. See [Mapping](rules.md#mapping).",
    ),
    inside: [{ isList: true, fields: mapFields }],
  },
};

/** Applies the top-level `consent.required` to destinations that do not set it. */
export function withConsent<Given extends Partial<DestinationRules>>(
  destinations: readonly Given[],
  isRequired: boolean,
): readonly Given[] {
  return destinations.map((destination) => {
    const { consent } = destination;
    if (!consent || consent.required !== null) return destination;
    return { ...destination, consent: { ...consent, required: isRequired } };
  });
}

/** The consent object of an audience's calls. */
export const audienceConsent: Decoder<Readonly<Record<string, boolean>>> = decoder({
  expected: `a map from categories (at most ${CATEGORY_CHARACTERS_MAX} characters each) to true or false`,
  unit: "",
  json: { type: "object", additionalProperties: { type: "boolean" } },
  test: (raw) => {
    if (!isJsonObject(raw)) return wrong("write { Advertising: true }");
    const isFit = Object.entries(raw).every(
      ([name, granted]) =>
        typeof granted === "boolean" && name !== "" && [...name].length <= CATEGORY_CHARACTERS_MAX,
    );
    return isFit ? value(raw as Readonly<Record<string, boolean>>) : wrong();
  },
});

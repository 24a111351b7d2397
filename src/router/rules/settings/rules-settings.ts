/**
 * The rules of a destination (docs/rules.md): `consent`, `filters` (`filter-settings.ts`) and `map`
 * (`map-settings.ts`). `rules-checks.ts` checks combinations of rules.
 */

import type { Invalid, Place } from "../../../base/settings/config-path.ts";
import { type Decoder, decoder, value, wrong } from "../../../base/settings/decoder.ts";
import { nested } from "../../../base/settings/nested.ts";
import { flag, listOf, oneOf } from "../../../base/settings/scalars.ts";
import { optional, required, section, setting } from "../../../base/settings/setting.ts";
import { isJsonObject } from "../../../domain/json.ts";
import type { ConsentRule, DestinationRules } from "../../../domain/rules.ts";
import { filtersSetting } from "./filter-settings.ts";
import { mapSetting } from "./map-settings.ts";
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

const consentSetting = nested(
  {
    expected: "a list of categories, or a map with categories, match and required",
    forms: [
      { is: "value", json: { type: "array", items: { type: "string" } } },
      { is: "map", fields: consentMap.fields },
    ],
    decode: (raw, place): ConsentRule | Invalid =>
      isJsonObject(raw)
        ? consentMap.decode(raw, place)
        : consentMap.decode({ categories: raw }, onList(place)),
  },
  (decoder) =>
    optional(decoder, "Categories that a call must grant. See [Consent](rules.md#consent)."),
);

/** If `consent` is a list, which is the short form of the map, reports problems at the list. */
function onList(place: Place): Place {
  return { ...place, child: (key) => (key === "categories" ? place : place.child(key)) };
}

/** The settings that destinations of all types have. */
export const rulesSettings = { consent: consentSetting, filters: filtersSetting, map: mapSetting };

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

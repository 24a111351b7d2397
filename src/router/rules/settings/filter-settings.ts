/**
 * The setting `filters` of a destination (docs/rules.md#filters): a list, or a file in Segment's own form.
 *
 *   in Segment's file             result
 *   title                         the name
 *   if: all                       no condition; in the filter language, `all` would be a path to a null value
 *   actions, one of each type     DROP, SAMPLE (percent, path), DROP_PROPERTIES and ALLOW_PROPERTIES (fields)
 *   enabled                       the same
 *   anything else                 ignored
 */

import { isUtf8 } from "node:buffer";
import {
  allValid,
  foundAt,
  INVALID,
  type Invalid,
  type Place,
} from "../../../base/settings/config-path.ts";
import { type Decoder, decoderOf, value } from "../../../base/settings/decoder.ts";
import { nested } from "../../../base/settings/nested.ts";
import { kindOf } from "../../../base/settings/problem.ts";
import { flag, listOf, share, text } from "../../../base/settings/scalars.ts";
import { list, optional, required, section, setting } from "../../../base/settings/setting.ts";
import { describe, isJsonObject, type JsonObject, repeatedKey } from "../../../domain/json.ts";
import { nearest } from "../../../domain/nearest.ts";
import type { FilterRule, PropertyList } from "../../../domain/rules.ts";
import { meantPath } from "../path.ts";
import { characters, NAMES, path, scope } from "./rule-scope.ts";
import { checkFilters } from "./rules-checks.ts";

const NAME_CHARACTERS_MAX = 64;
const FILTERS_MAX = 50;

const sample = section("Keeps only a share of the calls that match.", {
  share: required(share(), "Share of the calls that is kept."),
  by: setting(
    path,
    "messageId",
    "Path of a value: calls with equal values are all kept or all skipped.",
  ),
});

/** A map from the path of an object to names of its properties. */
const propertyLists: Decoder<readonly PropertyList[]> = decoderOf({
  expected: "a map of paths to lists of names, such as { traits: [email] }",
  json: { type: "object", additionalProperties: { type: "array", items: { type: "string" } } },
  decode: (raw, place) => {
    if (!isJsonObject(raw)) return place.fail(foundAt(place, raw), propertyLists.expected);
    const names = listOf(
      text("a name", (given) => value(given)),
      "names",
      NAMES,
    );
    return allValid(
      Object.entries(raw).map(([given, listed]): PropertyList | Invalid => {
        const at = place.child(given);
        if (given !== "" && path.decode(given, at) === INVALID) return INVALID;
        const decoded = names.decode(listed, at);
        if (decoded === INVALID) return INVALID;
        for (const name of decoded) {
          const meant = meantPath(given === "" ? name : `x.${name}`);
          if (meant !== null || name.includes(".")) {
            at.warn(
              `${describe(name)} is the name of one property here, not a path, and is rarely meant`,
            );
          }
        }
        return { path: given, names: decoded };
      }),
    );
  },
});

const filterFields = {
  name: required(
    characters("a name", NAME_CHARACTERS_MAX),
    "Name of the filter, unique within the destination.",
  ),
  ...scope,
  enabled: setting(flag(), true, "If `false`, the filter has no effect."),
  drop: setting(flag(), false, "If `true`, calls that match are skipped."),
  sample: { ...sample, isOptional: true, decode: orNull(sample.decode) },
  dropProperties: optional(
    propertyLists,
    "Names of the properties to remove from an object, by its path.",
  ),
  allowProperties: optional(
    propertyLists,
    "Names of the only properties to keep in an object, by its path.",
  ),
};

function orNull<Value>(decode: (raw: unknown, place: Place) => Value | Invalid) {
  return (raw: unknown, place: Place): Value | Invalid | null =>
    raw === undefined || raw === null ? null : decode(raw, place);
}

const filterList = list(
  "",
  section("", filterFields, (values, place): FilterRule | Invalid => {
    const { dropProperties, allowProperties, ...rest } = values;
    return withAction(
      { ...rest, dropProperties: dropProperties ?? [], allowProperties: allowProperties ?? [] },
      place,
    );
  }),
  { min: 0, max: FILTERS_MAX },
);

function withAction(filter: FilterRule, place: Place): FilterRule | Invalid {
  const lists = filter.dropProperties.length + filter.allowProperties.length;
  if (filter.drop || filter.sample !== null || lists > 0) return filter;
  return place.fail("no action", "one or more of drop, sample, dropProperties and allowProperties");
}

function segmentFilter(raw: unknown, place: Place): FilterRule | Invalid {
  if (!isJsonObject(raw)) {
    return place.fail(kindOf(raw), "a filter in Segment's form");
  }
  const { title, if: condition, enabled = true, actions } = raw;
  if (!Array.isArray(actions)) {
    return place.child("actions").fail(kindOf(actions), "a list of actions");
  }
  if (!areSpelled(raw, ["title", "if", "enabled", "actions"], place)) return INVALID;
  const given: Record<string, unknown> = { name: title, enabled };
  // In Segment's file, `all` stands for every call. In the filter language, it would be a path to a null value.
  if (condition !== "all") given.if = condition;
  for (const [index, action] of actions.entries()) {
    const read = segmentAction(action, place.child("actions").child(index));
    if (read === INVALID) return INVALID;
    const [key, taken] = read;
    if (key in given) {
      return place.child("actions").child(index).fail("it again", "every action at most once");
    }
    given[key] = taken;
  }
  if (condition === undefined) {
    return place.child("if").fail("nothing", "a condition, or all");
  }
  const filter = filterList.item.decode(given, renamed(place));
  return filter as FilterRule | Invalid;
}

function segmentAction(raw: unknown, place: Place): readonly [string, unknown] | Invalid {
  const action = isJsonObject(raw) ? raw : {};
  const { type, fields, percent, path: by } = action;
  if (!areSpelled(action, ["type", "fields", "percent", "path"], place)) return INVALID;
  switch (type) {
    case "DROP":
      return ["drop", true];
    case "SAMPLE":
      return ["sample", { share: percent, by: by === "" ? null : by }];
    case "DROP_PROPERTIES":
      return ["dropProperties", fields];
    case "ALLOW_PROPERTIES":
      return ["allowProperties", fields];
    default: {
      const expected = "DROP, SAMPLE, DROP_PROPERTIES or ALLOW_PROPERTIES";
      return place.child("type").fail(kindOf(type), expected);
    }
  }
}

/** Segment's fields that are not listed are ignored, but not those that look like misspelled ones. */
function areSpelled(raw: JsonObject, known: readonly string[], place: Place): boolean {
  const isOdd = (key: string) => !known.includes(key) && nearest(key, known, 1 / 4.5) !== null;
  const odd = Object.keys(raw).find(isOdd);
  if (odd === undefined) return true;
  const expected = `${nearest(odd, known)} instead of ${odd}`;
  place.child(odd).fail("a field that is not one of Segment's", expected);
  return false;
}

/** Returns a location at which problems are reported with the names of Segment's fields. */
function renamed(place: Place): Place {
  const names: Readonly<Record<string, string>> = { name: "title" };
  return { ...place, child: (key) => place.child(names[key] ?? key) };
}

/** The setting that names a separate file of filters. */
const filterFileFields = {
  file: required(
    text("the path of a file", (given) => value(given)),
    "A file with filters exported from Segment, instead of a list.",
  ),
};

export const filtersSetting = nested(
  {
    expected: "a list of filters, or { file: filters.json }",
    forms: [
      { is: "list", fields: filterFields, max: FILTERS_MAX },
      { is: "map", fields: filterFileFields },
    ],
    decode: (raw, place): readonly FilterRule[] | Invalid => {
      const filters = isJsonObject(raw) ? fromFile(raw, place) : filterList.decode(raw, place);
      return filters === INVALID ? INVALID : checkFilters(filters, place);
    },
  },
  (decoder) =>
    setting(
      decoder,
      [],
      "Rules that drop or sample calls, or remove properties. See [Filters](rules.md#filters).",
    ),
);

const fileMap = section("", filterFileFields);

function fromFile(raw: unknown, place: Place): readonly FilterRule[] | Invalid {
  const named = fileMap.decode(raw, place);
  if (named === INVALID) return INVALID;
  const { file } = named;
  const at = place.child("file");
  const expected = "a file with a list of Segment's filters in JSON";
  const read = place.readFile(file);
  if (read.kind === "unreadable") {
    const found = `${JSON.stringify(file)}, which cannot be read: ${read.why}`;
    return at.fail(
      found,
      expected,
      "a relative path is resolved against the folder of the configuration file",
    );
  }
  const json = isUtf8(read.bytes) ? read.bytes.toString() : "";
  const filters = listIn(json);
  const repeated = filters && repeatedKey(json);
  if (filters === null || repeated !== null) {
    const why =
      filters === null ? "has other content" : `has ${describe(repeated)} twice in an object`;
    return at.fail(`${JSON.stringify(file)}, which ${why}`, expected);
  }
  if (filters.length > FILTERS_MAX) {
    const found = `${filters.length} filters in ${JSON.stringify(file)}`;
    return at.fail(found, `at most ${FILTERS_MAX}`);
  }
  return allValid(filters.map((each, index) => segmentFilter(each, inFile(at, file, [index]))));
}

function listIn(json: string): readonly unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(json.replace(/^\ufeff/, ""));
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Returns a location inside a file. Its problems and warnings are reported at the setting that names the file. */
function inFile(at: Place, file: string, inner: readonly (string | number)[]): Place {
  const where = `${file}${inner.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("")}`;
  return {
    path: at.path,
    origin: at.origin,
    readFile: (path) => at.readFile(path),
    child: (key) => inFile(at, file, [...inner, key]),
    fail: (found, expected, hint) => at.fail(`${found}, at ${where}`, expected, hint),
    warn: (warning) => at.warn(`${where}: ${warning}`),
  };
}

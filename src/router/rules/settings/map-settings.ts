/** The setting `map` of a destination (docs/rules.md#mapping): entries with one action each. */

import { INVALID, type Invalid, type Place } from "../../../base/settings/config-path.ts";
import { decoder, value, wrong } from "../../../base/settings/decoder.ts";
import { nested } from "../../../base/settings/nested.ts";
import { kindOf } from "../../../base/settings/problem.ts";
import { oneOf, secret, text } from "../../../base/settings/scalars.ts";
import {
  list,
  type Node,
  optional,
  section,
  setting,
  type Values,
} from "../../../base/settings/setting.ts";
import { isJsonObject } from "../../../domain/json.ts";
import type { MapAction, MapRule, RuleScope } from "../../../domain/rules.ts";
import { path, scope } from "./rule-scope.ts";
import { checkMap } from "./rules-checks.ts";

const ENTRIES_MAX = 100;
const SECRET_BYTES_MIN = 16;

/** Any JSON, including null. */
const anyJson: Node & {
  decode: (raw: unknown, place: Place) => { readonly json: unknown } | Invalid | null;
} = {
  kind: "setting",
  doc: "Value that `set` writes. `null` is allowed.",
  fallback: null,
  decoder: decoder({ expected: "any JSON", json: {}, test: (raw) => value(raw) }),
  decode: (raw, place) => {
    if (raw === undefined) return null;
    if (isJson(raw)) return { json: raw };
    return place.fail(kindOf(raw), "a JSON value");
  },
};

function isJson(raw: unknown): boolean {
  if (typeof raw === "number") return Number.isFinite(raw);
  if (Array.isArray(raw)) return raw.every(isJson);
  if (isJsonObject(raw)) return Object.values(raw).every(isJson);
  return raw === null || typeof raw === "string" || typeof raw === "boolean";
}

const eventName = text("the name of an event", (given) => (given === "" ? wrong() : value(given)));
const anyText = text("a string that is not empty", (given) =>
  given === "" ? wrong() : value(given),
);

/** The settings of an entry. An entry must have exactly one of the first seven settings. */
const mapFields = {
  event: optional(eventName, "Name of the event to rename to `to`."),
  move: optional(path, "Path of the value to move; its new path is `to`."),
  copy: optional(path, "Path of the value to copy to `to`."),
  set: optional(path, "Path to which `value` is written."),
  string: optional(path, "Path of a number or boolean to convert to a string."),
  hash: optional(path, "Path of the value to hash."),
  remove: optional(path, "Path to remove."),
  to: optional(anyText, "New name of the event, or path to which the value is written."),
  value: anyJson,
  normalize: optional(
    oneOf("none", "trim", "email"),
    "Changes strings before they are hashed: `trim` removes spaces at both ends, `email` also " +
      "converts to lower case.",
  ),
  algorithm: optional(
    oneOf("sha256", "hmac-sha256"),
    "Hash algorithm. If not set, `sha256`, which can be reversed by trying likely values.",
  ),
  secret: optional(
    secret("a string that is not empty"),
    "Secret key for `hmac-sha256`, of at least 16 bytes.",
  ),
  ...scope,
};
type Entry = Values<typeof mapFields>;

const ACTIONS = ["event", "move", "copy", "set", "string", "hash", "remove"] as const;
/** The other settings that each action accepts. */
const TAKES: Readonly<Record<(typeof ACTIONS)[number], readonly string[]>> = {
  event: ["to"],
  move: ["to"],
  copy: ["to"],
  set: ["value"],
  string: [],
  hash: ["normalize", "algorithm", "secret"],
  remove: [],
};
const EXTRAS = ["to", "value", "normalize", "algorithm", "secret"] as const;

function entryOf(entry: Entry, place: Place): MapRule | Invalid {
  const given = ACTIONS.filter((name) => entry[name] !== null);
  const [action] = given;
  if (action === undefined || given.length > 1) {
    const found = given.length === 0 ? "no action" : given.join(" and ");
    return place.fail(found, `one of ${ACTIONS.join(", ")}`);
  }
  const odd = EXTRAS.find((name) => entry[name] !== null && !TAKES[action].includes(name));
  if (odd !== undefined) {
    return place.child(odd).fail("a value", `nothing, because ${action} does not use it`);
  }
  const built = actionOf(action, entry, place);
  if (built === INVALID) return INVALID;
  const { sources, if: condition }: RuleScope = entry;
  return { ...built, sources, if: condition };
}

function actionOf(
  action: (typeof ACTIONS)[number],
  entry: Entry,
  place: Place,
): MapAction | Invalid {
  const { to } = entry;
  const target = entry[action] ?? "";
  switch (action) {
    case "event":
      return to === null ? missing("to", eventName.expected, place) : { action, event: target, to };
    case "move":
    case "copy": {
      if (to === null) return missing("to", path.expected, place);
      const decoded = path.decode(to, place.child("to"));
      return decoded === INVALID ? INVALID : { action, from: target, to: decoded };
    }
    case "set":
      if (entry.value === null) return missing("value", "any JSON", place);
      return { action, path: target, value: entry.value.json };
    case "hash":
      return hashOf(target, entry, place);
    case "string":
    case "remove":
      return { action, path: target };
  }
}

function hashOf(target: string, entry: Entry, place: Place): MapAction | Invalid {
  const { normalize, algorithm: given, secret: key } = entry;
  const algorithm = given ?? "sha256";
  const expected = `a secret of at least ${SECRET_BYTES_MIN} bytes for hmac-sha256`;
  if (algorithm === "hmac-sha256" && key === null) return missing("secret", expected, place);
  if (algorithm === "hmac-sha256" && Buffer.byteLength(key ?? "") < SECRET_BYTES_MIN) {
    return place
      .child("secret")
      .fail("a shorter one", expected, "to create one, run `openssl rand -hex 32`");
  }
  if (algorithm === "sha256" && key !== null) {
    const hint = "write algorithm: hmac-sha256";
    return place.child("secret").fail("a secret", "nothing for sha256", hint);
  }
  return { action: "hash", path: target, normalize: normalize ?? "none", algorithm, secret: key };
}

function missing(name: string, expected: string, place: Place): Invalid {
  return place.child(name).fail("nothing", expected);
}

const entries = list("", section("", mapFields, entryOf), { min: 0, max: ENTRIES_MAX });

const { value: anyValue, sources, ...texts } = mapFields;

export const mapSetting = nested(
  {
    expected: "a list of entries, such as { hash: traits.email }",
    forms: [
      {
        is: "list",
        fields: mapFields,
        inSchema: { ...texts, value: anyValue, sources },
        max: ENTRIES_MAX,
      },
    ],
    decode: (raw, place): readonly MapRule[] | Invalid => {
      const map = entries.decode(raw, place);
      return map === INVALID ? INVALID : checkMap(map, place);
    },
  },
  (decoder) =>
    setting(
      decoder,
      [],
      "Rules that rename, move, set, hash or remove values. See [Mapping](rules.md#mapping).",
    ),
);

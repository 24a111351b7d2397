/**
 * Declares settings. Each setting is a node. Its type, its parser, the override from the environment, the output of
 * `config print` and its entry on the reference page are derived from the node.
 *
 *   node       in the file                                absent, or without a value
 *   setting    one value, or a list of plain values       its default, or a problem
 *   section    a map of nodes; other keys are problems    as an empty map
 *   variants   a map whose fields depend on one of them   a problem
 *   list       a list of sections or variants             as an empty list
 *   optional   any of the first three                     null
 */

import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import { nearest } from "../../domain/nearest.ts";
import { allValid, INVALID, type Invalid, type Place } from "./config-path.ts";
import type { Decoder, Unit } from "./decoder.ts";
import { describe, kindOf } from "./problem.ts";

interface NodeOf<Value> {
  /** One or two sentences for the reference page. */
  readonly doc: string;
  /** `raw` is undefined or null if the file has no value here. */
  readonly decode: (raw: unknown, place: Place) => Value | Invalid;
}

export interface Setting<Value, U extends Unit = Unit> extends NodeOf<Value> {
  readonly kind: "setting";
  readonly decoder: Decoder<unknown, U>;
  /** The default in the form that the file would have; null if the setting is optional, undefined if it is required. */
  readonly fallback: unknown;
  /**
   * For the reference page: the settings inside the value, by the forms of the value, if the value's decoder itself
   * reads such settings.
   */
  readonly inside?: readonly { readonly isList: boolean; readonly fields: Fields }[];
}

export interface Section<Value> extends NodeOf<Value> {
  readonly kind: "section";
  /** @param hintFor returns the hint for an unknown key; if it returns null, the hint is a similar key. */
  readonly decode: (
    raw: unknown,
    place: Place,
    hintFor?: (key: string) => string | null,
  ) => Value | Invalid;
  readonly fields: Fields;
  readonly isOptional: boolean;
  /** If `true`, the value `true` stands for an empty map, and `false` for no section. */
  readonly takesFlag: boolean;
}

interface Variants<Value> extends NodeOf<Value> {
  readonly kind: "variants";
  readonly tag: string;
  readonly tagDoc: string;
  readonly sections: Readonly<Record<string, Section<unknown>>>;
  readonly isOptional: boolean;
}

interface List<Value> extends NodeOf<Value> {
  readonly kind: "list";
  readonly item: Section<unknown> | Variants<unknown>;
  /** Minimum and maximum number of entries. */
  readonly length: { readonly min: number; readonly max: number };
}

export type Node = Setting<unknown> | Section<unknown> | Variants<unknown> | List<unknown>;
export type Fields = Readonly<Record<string, Node>>;

/** The value of a node in the program. */
export type ValueOf<N> = N extends NodeOf<infer Value> ? Value : never;

/** The fields of a section, or of all variants. A field that several variants have occurs once. */
export function fieldsOf(node: Section<unknown> | Variants<unknown>): Fields {
  if (node.kind === "section") return node.fields;
  return Object.assign({}, ...Object.values(node.sections).map(({ fields }) => fields));
}

/** Yields a node, and then everything that it contains. In a path, `*` stands for each entry of a list. */
export function* nodesIn(
  node: Node,
  path: readonly string[] = [],
): Generator<{ readonly node: Node; readonly path: readonly string[] }> {
  yield { node, path };
  if (node.kind === "setting") return;
  if (node.kind === "list") {
    yield* nodesIn(node.item, [...path, "*"]);
    return;
  }
  for (const [key, field] of Object.entries(fieldsOf(node))) yield* nodesIn(field, [...path, key]);
}

/** The values of a section's fields in the program; the unit is appended to the name. */
export type Values<F> = {
  readonly [K in keyof F & string as F[K] extends Setting<unknown, infer U>
    ? `${K}${U}`
    : K]: ValueOf<F[K]>;
};

/** A setting with a default. The default is given as it would be written in the file. */
export function setting<Value, U extends Unit>(
  decoder: Decoder<Value, U>,
  fallback: string | number | boolean | readonly string[] | Readonly<Record<string, never>>,
  doc: string,
): Setting<Value, U> {
  /** Shared by all places without a value. */
  let byDefault: Value | Invalid | undefined;
  const decode = (raw: unknown, place: Place) => {
    if (isAbsent(raw)) {
      byDefault ??= decoder.decode(fallback, place);
      return byDefault;
    }
    return decoder.decode(given(decoder, raw, place) ?? fallback, place);
  };
  return { kind: "setting", decoder, fallback, doc, decode };
}

export function required<Value, U extends Unit>(
  decoder: Decoder<Value, U>,
  doc: string,
): Setting<Value, U> {
  const decode = (raw: unknown, place: Place) => {
    if (isAbsent(raw)) return place.fail("nothing", decoder.expected);
    return decoder.decode(given(decoder, raw, place), place);
  };
  return { kind: "setting", decoder, fallback: undefined, doc, decode };
}

export function optional<Value, U extends Unit>(
  decoder: Decoder<Value, U>,
  doc: string,
): Setting<Value | null, U> {
  const decode = (raw: unknown, place: Place) =>
    isAbsent(raw) ? null : decoder.decode(given(decoder, raw, place), place);
  return { kind: "setting", decoder, fallback: null, doc, decode };
}

export function section<F extends Fields>(doc: string, fields: F): Section<Values<F>>;
/** `finish` combines the fields, or reports fields that do not fit together. */
export function section<F extends Fields, Value>(
  doc: string,
  fields: F,
  finish: (values: Values<F>, place: Place) => Value | Invalid,
): Section<Value>;
export function section<F extends Fields>(
  doc: string,
  fields: F,
  finish: (values: Values<F>, place: Place) => unknown = (values) => values,
): Section<unknown> {
  const nodes = Object.entries(fields).map(([key, node]) => {
    const unit = node.kind === "setting" ? node.decoder.unit : "";
    return { key, node, name: `${key}${unit}` };
  });
  const decode: Section<unknown>["decode"] = (raw, place, hintFor = () => null) => {
    const map = readMap(raw ?? {}, place);
    if (map === INVALID) return INVALID;
    reportUnknown(map, fields, place, hintFor);
    const values = nodes.map(({ key, node, name }) => {
      const inside = Object.hasOwn(map, key) ? map[key] : undefined;
      return [name, node.decode(inside, place.child(key))] as const;
    });
    if (values.some(([, entry]) => entry === INVALID)) return INVALID;
    // The names and values are those in `fields`, as the type `Values` requires.
    return finish(Object.fromEntries(values) as Values<F>, place);
  };
  return { kind: "section", doc, fields, isOptional: false, takesFlag: false, decode };
}

/**
 * An optional section, which is null if it is absent. With `takesFlag`, `true` is read as an empty map, and `false` as
 * null.
 */
export function optionalSection<Value>(
  base: Section<Value>,
  takesFlag: boolean,
): Section<Value | null> {
  const decode = (raw: unknown, place: Place): Value | null | Invalid => {
    if (isAbsent(raw) || (takesFlag && raw === false)) return null;
    return base.decode(takesFlag && raw === true ? {} : raw, place);
  };
  return { ...base, isOptional: true, takesFlag, decode };
}

/** A map that has the fields of one of the sections: the section that the map's field `tag` names. */
export function variants<S extends Readonly<Record<string, Section<unknown>>>>(
  doc: string,
  tag: string,
  tagDoc: string,
  sections: S,
): Variants<ValueOf<S[keyof S]>> {
  const names = Object.keys(sections);
  const decode = (raw: unknown, place: Place): ValueOf<S[keyof S]> | Invalid => {
    const map = readMap(raw, place);
    if (map === INVALID) return INVALID;
    const { [tag]: chosen, ...rest } = map;
    const variant = typeof chosen === "string" && names.includes(chosen) ? sections[chosen] : null;
    if (!variant) {
      const similar = typeof chosen === "string" ? nearest(chosen, names) : null;
      const hint = similar === null ? null : `did you mean ${similar}?`;
      return place.child(tag).fail(describe(chosen ?? undefined), names.join(" or "), hint);
    }
    const hintFor = (key: string) => {
      const having = names.filter((name) => Object.hasOwn(sections[name]?.fields ?? {}, key));
      return having.length === 0 ? null : `it is a setting of ${tag}: ${having.join(" or ")}`;
    };
    return variant.decode(rest, place, hintFor) as ValueOf<S[keyof S]> | Invalid;
  };
  return { kind: "variants", doc, tag, tagDoc, sections, isOptional: false, decode };
}

export function optionalVariants<Value>(base: Variants<Value>): Variants<Value | null> {
  const decode = (raw: unknown, place: Place) => (isAbsent(raw) ? null : base.decode(raw, place));
  return { ...base, isOptional: true, decode };
}

export function list<Value>(
  doc: string,
  item: Section<Value> | Variants<Value>,
  length: { readonly min: number; readonly max: number },
): List<readonly Value[]> {
  const { min, max } = length;
  const most = max === Number.POSITIVE_INFINITY ? "" : `, at most ${max}`;
  const expected = min > 0 ? `a list of at least ${min}${most}` : `a list${most}`;
  const decode = (raw: unknown, place: Place): readonly Value[] | Invalid => {
    const entries = raw ?? [];
    if (!Array.isArray(entries)) return place.fail(kindOf(entries), expected);
    const values = entries.map((entry, index) => item.decode(entry, place.child(index)));
    const { length: count } = values;
    if (count >= min && count <= max) return allValid(values);
    return place.fail(count === 0 ? "an empty list" : `a list of ${count}`, expected);
  };
  return { kind: "list", doc, item, length, decode };
}

function isAbsent(raw: unknown): boolean {
  return raw === undefined || raw === null;
}

/**
 * A string that came completely or partly from the environment is decoded like a variable, so that "64" may be a
 * number.
 */
function given(decoder: Decoder<unknown, Unit>, raw: unknown, place: Place): unknown {
  return typeof raw === "string" && place.origin !== null ? decoder.fromText(raw) : raw;
}

/** Reads a map as the YAML parser returns it, and reports a problem for any other value. */
function readMap(raw: unknown, place: Place): JsonObject | Invalid {
  if (isJsonObject(raw)) return raw;
  // Only the kind of value is shown, because the value may be a misplaced secret.
  return place.fail(kindOf(raw), "a map of settings");
}

/** Reports unknown keys without their values, which may be secret. */
function reportUnknown(
  map: JsonObject,
  fields: Fields,
  place: Place,
  hintFor: (key: string) => string | null,
): void {
  for (const key of Object.keys(map)) {
    if (Object.hasOwn(fields, key)) continue;
    const known = Object.keys(fields);
    const similar = nearest(key, known);
    const hint = hintFor(key) ?? (similar === null ? null : `did you mean ${similar}?`);
    place.child(key).fail("an unknown setting", `one of ${known.join(", ")}`, hint);
  }
}

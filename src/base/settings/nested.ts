/**
 * Declares settings whose value itself contains settings, such as the list `filters` of a destination. Everything else
 * follows from the forms that the value may have:
 *
 *   form                      JSON Schema                  `config print`           reference page
 *   a map with settings       an object, types only        each setting's `show`    a row for each setting
 *   a list of such maps       an array of such objects     the same                 the same
 *   any other value           as the form gives it         unchanged                nothing
 */

import { isJsonObject } from "../../domain/json.ts";
import { type Decoder, decoderOf } from "./decoder.ts";
import type { Fields, Node, Setting } from "./setting.ts";

type Schema = Readonly<Record<string, unknown>>;

type Form =
  | { readonly is: "map"; readonly fields: Fields }
  | {
      readonly is: "list";
      readonly fields: Fields;
      readonly max: number;
      /** The fields in the order of the JSON Schema, if it differs from that of the reference page. */
      readonly inSchema?: Fields;
    }
  | { readonly is: "value"; readonly json: Schema };

interface Nested<Value> extends Pick<Decoder<Value>, "expected" | "decode"> {
  readonly forms: readonly Form[];
}

/** @param declared declares the setting: required, optional, or with a default. */
export function nested<Value, Declared>(
  { forms, ...reading }: Nested<Value>,
  declared: (decoder: Decoder<Value>) => Setting<Declared, "">,
): Setting<Declared, ""> {
  const schemas = forms.map(schemaOf);
  const json = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  const decoder = decoderOf({ ...reading, json, show: (raw) => shown(forms, raw) });
  const inside = forms.flatMap((form) =>
    form.is === "value" ? [] : [{ isList: form.is === "list", fields: form.fields }],
  );
  return { ...declared(decoder), inside };
}

function schemaOf(form: Form): Schema {
  if (form.is === "value") return form.json;
  const required = Object.entries(form.fields).flatMap(([key, node]) =>
    node.kind === "setting" && node.fallback === undefined ? [key] : [],
  );
  const order = form.is === "list" ? form.inSchema : undefined;
  const map = { ...mapOf(order ?? form.fields), ...(required.length > 0 && { required }) };
  return form.is === "map" ? map : { type: "array", maxItems: form.max, items: map };
}

function mapOf(fields: Fields): Schema {
  const properties = Object.entries(fields).map(([key, node]) => [key, typesOf(node)]);
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}

/** Strings may contain variables, and null counts as absent. */
function typesOf(node: Node): Schema {
  if (node.kind === "section") return { ...mapOf(node.fields), type: ["object", "null"] };
  const { json = {} } = node.kind === "setting" ? node.decoder : {};
  const type = "enum" in json ? "string" : json.type;
  if (node.kind !== "setting" || type === undefined) return {};
  const types = [type];
  if (node.fallback !== undefined) types.push("null");
  if (type !== "string" && type !== "object") types.push("string");
  return { type: types.length === 1 ? type : types };
}

function shown(forms: readonly Form[], raw: unknown): unknown {
  for (const form of forms) {
    if (form.is === "list" && Array.isArray(raw)) {
      return raw.map((entry) => shownMap(form.fields, entry));
    }
    if (form.is === "map" && isJsonObject(raw)) return shownMap(form.fields, raw);
  }
  return raw;
}

function shownMap(fields: Fields, raw: unknown): unknown {
  if (!isJsonObject(raw)) return raw;
  const entries = Object.entries(raw).map(([key, value]) => {
    const node = Object.hasOwn(fields, key) ? fields[key] : undefined;
    return [key, node?.kind === "setting" ? node.decoder.show(value) : value];
  });
  return Object.fromEntries(entries);
}

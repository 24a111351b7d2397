/**
 * Generates the JSON Schema (draft 7) of the configuration file from the declarations of the settings. Editors use the
 * schema to complete and check `switchyard.yaml`, and the chart's `values.schema.json` contains it, so that Helm
 * rejects invalid values.
 *
 *   node       schema
 *   setting    the JSON form of its decoder, a string with a variable such as `${NAME}`, or null
 *   section    an object without other keys, or null if the section is optional or nothing in it is required
 *   variants   an object with the fields of all variants; the value of the tag selects which of them are allowed
 *   list       an array
 *
 * A required setting is `required` only inside lists, because outside lists the environment can supply it. The schema
 * accepts every configuration that `switchyard config check` accepts; the command also checks rules that a schema
 * cannot express.
 */

import { type Fields, fieldsOf, type Node } from "../base/settings/setting.ts";
import { SETTINGS } from "./settings.ts";

type Schema = Readonly<Record<string, unknown>>;

const VARIABLE: Schema = { type: "string", pattern: "\\$\\{" };
const NOTHING: Schema = { type: "null" };

/** Returns the definition of the whole file, for use inside another schema. */
export function configurationSchema(): Schema {
  return objectOf(SETTINGS.fields, { isInList: false });
}

/** Returns the schema as a separate document. */
export function configurationSchemaText(): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of Switchyard",
    ...configurationSchema(),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

interface Context {
  readonly isInList: boolean;
}

function schemaOf(node: Node, context: Context): Schema {
  const description = withoutLinks(node.doc);
  const described = description === "" ? {} : { description };
  switch (node.kind) {
    case "setting": {
      const { fallback, decoder } = node;
      const preset = fallback === undefined || fallback === null ? {} : { default: fallback };
      if (decoder.json === undefined) return { ...described, ...preset };
      return { ...described, ...preset, anyOf: [decoder.json, VARIABLE, NOTHING] };
    }
    case "section": {
      const flag = node.takesFlag ? [{ type: "boolean" }, VARIABLE] : [];
      return { ...described, anyOf: [objectOf(node.fields, context), ...flag, NOTHING] };
    }
    case "list": {
      const items = schemaOf(node.item, { isInList: true });
      const { min, max } = node.length;
      const length = { minItems: min, ...(Number.isFinite(max) ? { maxItems: max } : {}) };
      const isNullable = min === 0 ? [NOTHING] : [];
      return { ...described, anyOf: [{ type: "array", items, ...length }, ...isNullable] };
    }
    case "variants":
      return { ...described, ...variantsOf(node, context) };
  }
}

function objectOf(fields: Fields, context: Context): Schema {
  const properties = Object.entries(fields).map(([key, node]) => [key, schemaOf(node, context)]);
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(properties),
    ...requiredOf(fields, context),
  };
}

function requiredOf(fields: Fields, { isInList }: Context): Schema {
  const required = Object.entries(fields)
    .filter(([, node]) => isInList && mustBeGiven(node))
    .map(([key]) => key);
  return required.length === 0 ? {} : { required };
}

function mustBeGiven(node: Node): boolean {
  if (node.kind === "setting") return node.fallback === undefined;
  if (node.kind === "list") return node.length.min > 0;
  return node.kind === "variants" && !node.isOptional;
}

function variantsOf(node: Extract<Node, { kind: "variants" }>, context: Context): Schema {
  const names = Object.keys(node.sections);
  const tag = { description: withoutLinks(node.tagDoc), enum: names };
  const merged = objectOf(fieldsOf(node), { isInList: false });
  const properties = { [node.tag]: tag, ...(merged.properties as Schema) };
  const rules = Object.entries(node.sections).map(([name, { fields }]) => ({
    if: { properties: { [node.tag]: { const: name } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      propertyNames: { enum: [node.tag, ...Object.keys(fields)] },
      ...requiredOf(fields, context),
    },
  }));
  const object = { ...merged, properties, required: [node.tag], allOf: rules };
  return node.isOptional ? { anyOf: [object, NOTHING] } : object;
}

/** Replaces Markdown links with their text, because editors do not render Markdown in descriptions. */
function withoutLinks(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

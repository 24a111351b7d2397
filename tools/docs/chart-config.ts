/**
 * The part of the chart's `values.schema.json` that speaks of the configuration, from the
 * declarations of the settings: which keys there are. Helm then refuses a typo at install time.
 *
 * Values are left to `switchyard config check`: each may be a text with variables, so that a type
 * says little.
 */

import type { Fields, Node } from "../../src/config/setting.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { readPage } from "./page.ts";

const SCHEMA = "deploy/helm/switchyard/values.schema.json";

/** The file as it is, its definition `config` made anew. */
export function renderChartSchema(): string {
  const schema = JSON.parse(readPage(SCHEMA));
  schema.definitions.config = mapOf(SETTINGS.fields, ["object"]);
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function schemaOf(node: Node): object {
  const description = node.doc;
  switch (node.kind) {
    case "setting":
      return { description };
    case "section": {
      const flag = node.takesFlag ? ["boolean"] : [];
      return { description, ...mapOf(node.fields, ["object", "null", ...flag]) };
    }
    case "list":
      return { description, type: ["array", "null"], items: schemaOf(node.item) };
    case "variants": {
      const fields = Object.values(node.sections).map((section) => section.fields);
      const own = mapOf(Object.assign({}, ...fields), ["object", "null"]);
      const tag = { description: node.tagDoc, enum: Object.keys(node.sections) };
      return { description, ...own, properties: { [node.tag]: tag, ...own.properties } };
    }
  }
}

function mapOf(fields: Fields, type: readonly string[]) {
  const properties = Object.entries(fields).map(([key, node]) => [key, schemaOf(node)] as const);
  return {
    type: type.length === 1 ? type[0] : type,
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}

/** `docs/schemas.md` from the `doc` fields of `schemas/`. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { orderSchemas } from "../../src/cli/schemas/schema-files.ts";
import { code, pageWith } from "./page.ts";

const FOLDER = join(import.meta.dirname, "../../schemas");

interface Field {
  readonly name: string;
  readonly type: unknown;
  readonly doc?: string;
  readonly default?: unknown;
}

interface Schema {
  readonly type: string;
  readonly name: string;
  readonly namespace?: string;
  readonly doc?: string;
  readonly fields?: readonly Field[];
  readonly symbols?: readonly string[];
}

interface JsonSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: string | number;
  readonly oneOf?: readonly JsonSchema[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
}

export function renderSchemas(): string {
  const files = readdirSync(FOLDER)
    .filter((file) => file.endsWith(".avsc"))
    .sort()
    .map((file) => ({ file, text: readFileSync(join(FOLDER, file), "utf8") }));
  const ordered = orderSchemas(files);
  if (ordered.kind === "invalid") throw new Error(ordered.problems.join("; "));
  const sections = ordered.schemas.map(({ file, name, text }) => section(file, name, text));
  return pageWith("docs/schemas.md", {
    Avro: sections.join("\n"),
    JSON: jsonSections().join("\n"),
  });
}

function jsonSections(): readonly string[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".schema.json"));
  return files.sort().map((file) => {
    const schema = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as JsonSchema;
    const [head, ...inner] = titled(schema);
    const first = jsonBody(head ?? schema, `## ${head?.title}\n\nFile: \`schemas/${file}\`.`);
    return `${first}${inner.map((each) => jsonBody(each, `\n### ${each.title}\n\n`)).join("")}`;
  });
}

/** Returns the named objects, outermost first. */
function titled(schema: JsonSchema): readonly JsonSchema[] {
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.oneOf ?? []),
    ...(schema.items ? [schema.items] : []),
  ];
  return [...(schema.title === undefined ? [] : [schema]), ...inner.flatMap(titled)];
}

function jsonBody({ description, properties = {}, required = [] }: JsonSchema, head: string) {
  const rows = Object.entries(properties).map(([name, each]) => {
    const presence = required.includes(name) ? "always" : "may be absent";
    return `| ${code(name)} | ${jsonType(each)} | ${presence} | ${each.description ?? ""} |`;
  });
  const table = `\n| Field | Type | | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`;
  const gap = head.endsWith("\n") ? "" : " ";
  return `${head}${gap}${description ?? ""}\n${rows.length === 0 ? "" : table}`;
}

function jsonType(schema: JsonSchema): string {
  const { type = "", format, enum: choices, const: only, title, items } = schema;
  if (only !== undefined) return code(`${only}`);
  if (choices !== undefined) return choices.map(code).join(", ");
  if (items !== undefined) return `array of ${jsonType(items)}`;
  if (title !== undefined) return code(title);
  return format === undefined ? code(type) : `${type}, ${code(format)}`;
}

function section(file: string, name: string, text: string): string {
  const schema = JSON.parse(text) as Schema;
  const inner = nested(schema).map((each) => body(each, `\n### ${each.name}\n`));
  return `${body(schema, `## ${name}\n\nFile: \`schemas/${file}\`.`)}${inner.join("")}`;
}

function body({ doc, fields, symbols }: Schema, head: string): string {
  const about = `${head}${head.endsWith("\n") ? "\n" : " "}${doc ?? ""}\n`;
  if (symbols !== undefined) return `${about}\nOne of: ${symbols.map(code).join(", ")}.\n`;
  const rows = (fields ?? []).map(
    ({ name, type, doc: said = "", default: fallback }) =>
      `| ${code(name)} | ${typeText(type)} | ${fallback === undefined ? "required" : "optional"} | ${said} |`,
  );
  return `${about}\n| Field | Type | | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

/** Returns the nested records and enums. */
function nested({ fields = [] }: Schema): readonly Schema[] {
  return fields.flatMap(({ type }) => definitions(type));
}

function definitions(type: unknown): readonly Schema[] {
  if (Array.isArray(type)) return type.flatMap(definitions);
  if (typeof type !== "object" || type === null) return [];
  const { type: kind, items, values } = { ...type } as Record<string, unknown>;
  if (kind === "record" || kind === "enum") return [type as Schema];
  return [items, values].flatMap(definitions);
}

function typeText(type: unknown): string {
  if (typeof type === "string") return code(type);
  if (Array.isArray(type)) {
    const branches = type.filter((branch) => branch !== "null");
    return branches.length > 2
      ? "a value of any type, at most two levels deep"
      : branches.map(typeText).join(" or ");
  }
  const {
    type: kind,
    name,
    logicalType,
    items,
    values,
  } = { ...(type as object) } as Record<string, unknown>;
  if (typeof logicalType === "string") return `${String(kind)}, ${code(logicalType)}`;
  if (kind === "array") return `array of ${typeText(items)}`;
  if (kind === "map") return `map of ${typeText(values)}`;
  return code(String(name));
}

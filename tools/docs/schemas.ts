/** `docs/schemas.md` from the `doc` fields of `schemas/`. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { orderSchemas } from "../../src/program/cli/schemas/schema-files.ts";
import { code, pageWith, table } from "./page.ts";

const FOLDER = join(import.meta.dirname, "../../schemas");
/** The page only names these files: calls have their own page, and few readers need the fields of the others. */
const ONLY_NAMED = [
  "call.avsc",
  "call-type.avsc",
  "attempt.avsc",
  "operator-action.schema.json",
  "switchyard.schema.json",
];

interface Field {
  readonly name: string;
  readonly type: unknown;
  readonly doc?: string;
  readonly default?: unknown;
}

interface Schema {
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
  const sections = ordered.schemas
    .filter(({ file }) => !ONLY_NAMED.includes(file))
    .map(({ file, name, text }) => section(file, name, text));
  return pageWith("docs/schemas.md", {
    Avro: sections.join("\n"),
    JSON: jsonSections().join("\n"),
  });
}

function jsonSections(): readonly string[] {
  const files = readdirSync(FOLDER).filter(
    (file) => file.endsWith(".schema.json") && !ONLY_NAMED.includes(file),
  );
  return files.sort().map((file) => {
    const schema = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as JsonSchema;
    const [head = schema, ...inner] = titled(schema);
    const about = `## ${head.title}\n\nFile: \`schemas/${file}\`. ${head.description}\n`;
    return `${about}${jsonTable(head)}${inner.map((each) => `\n### ${each.title}\n${jsonTable(each)}`).join("")}`;
  });
}

/** Returns the named objects, outermost first. */
function titled(schema: JsonSchema): readonly JsonSchema[] {
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
  ];
  return [...(schema.title === undefined ? [] : [schema]), ...inner.flatMap(titled)];
}

function jsonTable({ properties = {}, required = [] }: JsonSchema): string {
  const rows = Object.entries(properties).map(([name, each]) => [
    field(name, required.includes(name)),
    jsonType(each),
    each.description ?? "",
  ]);
  return fieldTable(rows);
}

function fieldTable(rows: readonly (readonly string[])[]): string {
  return `\n${table(["Field", "Type", "Meaning"], rows)}\n`;
}

function field(name: string, isRequired: boolean): string {
  return `${code(name)}${isRequired ? "" : "?"}`;
}

function jsonType(schema: JsonSchema): string {
  const { type = "", format, enum: choices, const: only, title, items } = schema;
  if (only !== undefined) return code(`${only}`);
  if (choices !== undefined) return choices.map(code).join(", ");
  if (items !== undefined) return `array of ${jsonType(items)}`;
  if (title !== undefined) return code(title);
  return code(format ?? type);
}

function section(file: string, name: string, text: string): string {
  const { doc, fields = [], symbols } = JSON.parse(text) as Schema;
  const about = `## ${name}\n\nFile: \`schemas/${file}\`. ${doc}\n`;
  if (symbols !== undefined) return `${about}\nOne of: ${symbols.map(code).join(", ")}.\n`;
  const rows = fields.map(({ name, type, doc: said = "", default: fallback }) => [
    field(name, fallback === undefined),
    typeText(type),
    said,
  ]);
  return `${about}${fieldTable(rows)}`;
}

function typeText(type: unknown): string {
  if (typeof type === "string") return code(type);
  if (Array.isArray(type)) {
    const branches = type.filter((branch) => branch !== "null");
    return branches.length > 2 ? "any" : branches.map(typeText).join(" or ");
  }
  const {
    type: kind,
    name,
    logicalType,
    items,
    values,
    symbols,
  } = { ...(type as object) } as Record<string, unknown>;
  if (typeof logicalType === "string") return code(logicalType);
  if (Array.isArray(symbols)) return symbols.map(code).join(", ");
  if (kind === "array") return `array of ${typeText(items)}`;
  if (kind === "map") return `map of ${typeText(values)}`;
  return code(String(name));
}

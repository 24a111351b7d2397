/** `docs/configuration.md`: the example, and tables from the declarations of the settings. */

import { SETTINGS } from "../../src/config/settings.ts";
import type { Unit } from "../../src/settings/decoder.ts";
import type { Node, Section, Setting } from "../../src/settings/setting.ts";
import { pageWith, readPage } from "./page.ts";

export function renderConfiguration(): string {
  const { fields } = SETTINGS;
  const nodes = Object.entries(fields);
  const single = Object.fromEntries(nodes.filter(([, node]) => node.kind === "setting"));
  const sections = nodes.filter(([, node]) => node.kind !== "setting");
  const chapters = sections.map(([key, node]) => chapter(node, key));
  return pageWith("docs/configuration.md", {
    example: `\`\`\`yaml\n${readPage("examples/switchyard.yaml").trim()}\n\`\`\``,
    settings: [tableOf(rowsOf(single, [])), ...chapters].join("\n\n"),
  });
}

function chapter(node: Node, key: string): string {
  const heading = `## \`${key}\``;
  if (node.kind === "list") return `${heading}\n\n${node.doc}\n\n${listTables(node.item)}`;
  if (node.kind !== "section") return "";
  return `${heading}\n\n${node.doc}\n\n${tableOf(rowsOf(node.fields, []))}`;
}

function listTables(item: Node): string {
  if (item.kind === "section") return tableOf(rowsOf(item.fields, []));
  if (item.kind !== "variants") return "";
  const variants = Object.entries(item.sections).map(([name, section]) => {
    const tag = row([item.tag], [`\`${name}\``, "required", section.doc]);
    return { name, rows: [tag, ...rowsOf(section.fields, [])] };
  });
  const isCommon = (each: string) => variants.every(({ rows }) => rows.includes(each));
  const common = tableOf(variants[0]?.rows.filter(isCommon) ?? []);
  const own = variants.map(({ name, rows }) => {
    const heading = `### \`${item.tag}: ${name}\``;
    return `${heading}\n\n${tableOf(rows.filter((each) => !isCommon(each)))}`;
  });
  return [common, ...insideTables(item), ...own].join("\n\n");
}

/** Returns the settings inside the common settings of all variants, once for all variants. */
function insideTables(item: Extract<Node, { kind: "variants" }>): readonly string[] {
  const all = Object.values(item.sections).flatMap(({ fields }) => Object.entries(fields));
  const having = [...new Map(all)].filter(([, node]) => node.kind === "setting" && node.inside);
  if (having.length === 0) return [];
  const names = having.map(([key]) => `\`${key}\``);
  const heading = `### ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  const rows = having.flatMap(([key, node]) => {
    if (node.kind !== "setting" || node.inside === undefined) return [];
    return node.inside.flatMap(({ isList, fields }) => rowsOf(fields, [isList ? `${key}[]` : key]));
  });
  return [`${heading}\n\n${tableOf(rows)}`];
}

function tableOf(rows: readonly string[]): string {
  return ["| Setting | Value | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function rowsOf(fields: Section<unknown>["fields"], below: readonly string[]): readonly string[] {
  return Object.entries(fields).flatMap(([key, node]) => {
    const name = [...below, key];
    if (node.kind === "setting") return [row(name, [...valueAndDefault(node), node.doc])];
    if (node.kind === "section") {
      const fallback = node.isOptional ? "not set" : "";
      const value = node.takesFlag ? "true, false, or a map" : "map";
      return [row(name, [value, fallback, node.doc]), ...rowsOf(node.fields, name)];
    }
    if (node.kind === "list") {
      const { min, max } = node.length;
      const head = row(name, [`list of ${min} to ${max} maps`, "required", node.doc]);
      const item = node.item.kind === "section" ? node.item.fields : {};
      return [head, ...rowsOf(item, [...below, `${key}[]`])];
    }
    return [row(name, ["map", "not set", node.doc]), ...variantRows(node, name)];
  });
}

function variantRows(
  node: Extract<Node, { kind: "variants" }>,
  name: readonly string[],
): readonly string[] {
  const choices = Object.keys(node.sections).join(", ");
  const tag = row([...name, node.tag], [choices, "required", node.tagDoc]);
  const rows = Object.values(node.sections).flatMap(({ fields }) => rowsOf(fields, name));
  // Variants share fields.
  return [tag, ...new Set(rows)];
}

/** What problems spell out, and the page explains once, under "Values". */
const EXPLAINED: readonly (readonly [RegExp, string])[] = [
  [/ with its unit \([^)]+\),/, ""],
  [/^a complete http or https URL/, "a URL"],
  [/^the path of a PEM file with .*/, "a PEM file"],
  [/^a topic name of .*/, "a topic name"],
  [/^at most 200 lower-case letters, digits and dashes$/, "an ID"],
  [/^an? /, ""],
];

function valueAndDefault(setting: Setting<unknown, Unit>): readonly [string, string] {
  const { decoder, fallback } = setting;
  const value = EXPLAINED.reduce((text, [from, to]) => text.replace(from, to), decoder.expected);
  if (fallback === undefined) return [value, "required"];
  return [value, fallback === null ? "not set" : `\`${JSON.stringify(fallback)}\``];
}

function row(name: readonly string[], cells: readonly string[]): string {
  return `| \`${name.join(".")}\` | ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** `docs/configuration.md`: tables from the declarations of the settings. */

import type { Unit } from "../../src/base/settings/decoder.ts";
import type { Node, Section, Setting } from "../../src/base/settings/setting.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { pageWith } from "./page.ts";

const REQUIRED = "required";

export function renderConfiguration(): string {
  const { fields } = SETTINGS;
  const nodes = Object.entries(fields);
  const single = Object.fromEntries(nodes.filter(([, node]) => node.kind === "setting"));
  const sections = nodes.filter(([, node]) => node.kind !== "setting");
  const chapters = sections.map(([key, node], at) => {
    return repeatedChapter(node, key, sections.slice(0, at)) ?? chapter(node, key);
  });
  return pageWith("docs/configuration.md", {
    settings: [tableOf(rowsOf(single, [])), ...chapters].join("\n\n"),
  });
}

function chapter(node: Node, key: string): string {
  const heading = `## \`${key}\``;
  if (node.kind === "list") return `${heading}\n\n${node.doc}\n\n${listTables(node.item)}`;
  if (node.kind !== "section") return "";
  return `${heading}\n\n${node.doc}\n\n${tableOf(sectionRows(node, key))}`;
}

function sectionRows(node: Section<unknown>, key: string): readonly string[] {
  return rowsOf(node.fields, [], node.isOptional ? requiredWith([key]) : REQUIRED);
}

/** Returns a reference to an earlier chapter that has the same rows, or null. */
function repeatedChapter(
  node: Node,
  key: string,
  earlier: readonly (readonly [key: string, node: Node])[],
): string | null {
  if (node.kind !== "section") return null;
  const rows = rowsOf(node.fields, []);
  const [same] = earlier.find(([, other]) => isSubset(rows, chapterRows(other))) ?? [];
  if (same === undefined) return null;
  const names = Object.keys(node.fields).map((name) => `\`${name}\``);
  const list = `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return `## \`${key}\`\n\n${node.doc} They are ${list}, as for [\`${same}\`](#${same}).`;
}

function isSubset(rows: readonly string[], all: readonly string[]): boolean {
  return rows.every((each) => all.includes(each));
}

function chapterRows(node: Node): readonly string[] {
  if (node.kind === "section") return rowsOf(node.fields, []);
  return node.kind === "list" ? chapterRows(node.item) : [];
}

function listTables(item: Node): string {
  if (item.kind === "section") return tableOf(rowsOf(item.fields, []));
  if (item.kind !== "variants") return "";
  const variants = Object.entries(item.sections).map(([name, section]) => {
    const tag = row([item.tag], [`\`${name}\``, REQUIRED, section.doc]);
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
    return node.inside.flatMap(({ isList, fields }) =>
      isList
        ? rowsOf(fields, [`${key}[]`])
        : rowsOf(fields, [key], `required if \`${key}\` is a map`),
    );
  });
  return [`${heading}\n\n${tableOf(rows)}`];
}

function tableOf(rows: readonly string[]): string {
  return ["| Setting | Value | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}

/** @param need what the default of a setting says that is required with all others of its section. */
function rowsOf(
  fields: Section<unknown>["fields"],
  below: readonly string[],
  need = REQUIRED,
): readonly string[] {
  return Object.entries(fields).flatMap(([key, node]) => {
    const name = [...below, key];
    if (node.kind === "setting") return [row(name, [...valueAndDefault(node, need), node.doc])];
    if (node.kind === "section") {
      const value = node.takesFlag ? "boolean or map" : "map";
      const inside = node.isOptional ? requiredWith([name.join(".")]) : need;
      return [row(name, [value, "", node.doc]), ...rowsOf(node.fields, name, inside)];
    }
    if (node.kind === "list") {
      const { min, max } = node.length;
      const head = row(name, [`list of ${min} to ${max} maps`, REQUIRED, node.doc]);
      const item = node.item.kind === "section" ? node.item.fields : {};
      return [head, ...rowsOf(item, [...below, `${key}[]`])];
    }
    return [row(name, ["map", "", node.doc]), ...variantRows(node, name)];
  });
}

function variantRows(
  node: Extract<Node, { kind: "variants" }>,
  name: readonly string[],
): readonly string[] {
  const variants = Object.entries(node.sections);
  const tag = row(
    [...name, node.tag],
    [variants.map(([key]) => key).join(", "), requiredWith([name.join(".")]), node.tagDoc],
  );
  const rows = variants.flatMap(([, { fields }]) =>
    Object.entries(fields).flatMap(([key, field]) => {
      const having = variants.filter(([, section]) => key in section.fields).map(([each]) => each);
      return rowsOf({ [key]: field }, name, requiredWith(having));
    }),
  );
  // Variants share fields.
  return [tag, ...new Set(rows)];
}

function requiredWith(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.at(-1);
  return `required with ${quoted.length > 1 ? `${quoted.slice(0, -1).join(", ")} or ${last}` : last}`;
}

/** What problems spell out, and the page explains once, under "Values". */
const EXPLAINED: readonly (readonly [RegExp, string])[] = [
  [/ with its unit \([^)]+\),/, ""],
  [/^a complete http or https URL/, "a URL"],
  [/^the path of a PEM file with .*/, "a PEM file"],
  [/^a topic name of .*/, "a topic name"],
  [/^at most 200 lower-case letters, digits and dashes$/, "an ID"],
  [/^true or false$/, "boolean"],
  [/^a map of (?:paths|categories).*/, "map"],
  [/^a path such as .*/, "path"],
  [/ that is not empty$| and at most \d+$|, (?:at most \d+|\d+ to \d+) of them$/, ""],
  [/^an? /, ""],
];

function valueAndDefault(setting: Setting<unknown, Unit>, need: string): readonly [string, string] {
  const { decoder, fallback } = setting;
  const value = EXPLAINED.reduce((text, [from, to]) => text.replace(from, to), decoder.expected);
  if (fallback === undefined) return [value, need];
  return [value, fallback === null ? "" : `\`${JSON.stringify(fallback)}\``];
}

function row(name: readonly string[], cells: readonly string[]): string {
  return `| \`${name.join(".")}\` | ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

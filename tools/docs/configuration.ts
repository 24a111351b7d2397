/** `docs/configuration.md`: the example, and tables from the declarations of the settings. */

import { variableName } from "../../src/config/environment.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import type { Unit } from "../../src/settings/decoder.ts";
import type { Node, Section, Setting } from "../../src/settings/setting.ts";
import { pageWith, readPage } from "./page.ts";

export function renderConfiguration(): string {
  const { fields } = SETTINGS;
  const sections = Object.entries(fields).filter(([, node]) => node.kind !== "setting");
  const chapters = sections.map(([key, node]) => chapter(node, [key]));
  return pageWith("docs/configuration.md", {
    example: `\`\`\`yaml\n${readPage("examples/switchyard.yaml").trim()}\n\`\`\``,
    settings: [settingTable(fields, [], true), ...chapters].join("\n\n"),
  });
}

function chapter(node: Node, path: readonly string[]): string {
  const heading = `## \`${path.join(".")}\``;
  if (node.kind === "list") return `${heading}\n\n${node.doc}\n\n${listTables(node.item)}`;
  if (node.kind !== "section") return "";
  return `${heading}\n\n${node.doc}\n\n${settingTable(node.fields, path, true)}`;
}

function listTables(item: Node): string {
  if (item.kind === "section") return settingTable(item.fields, [], false);
  if (item.kind !== "variants") return "";
  const tables = Object.entries(item.sections).map(([name, section]) => {
    const tag = row([item.tag], [`\`${name}\``, "required", section.doc]);
    return `### \`${item.tag}: ${name}\`\n\n${settingTable(section.fields, [], false, [tag])}`;
  });
  return [...tables, ...insideTables(item)].join("\n\n");
}

/** Returns the settings inside the common settings of all variants, once for all variants. */
function insideTables(item: Extract<Node, { kind: "variants" }>): readonly string[] {
  const all = Object.values(item.sections).flatMap(({ fields }) => Object.entries(fields));
  const having = [...new Map(all)].filter(([, node]) => node.kind === "setting" && node.inside);
  if (having.length === 0) return [];
  const names = having.map(([key]) => `\`${key}\``);
  const heading = `### ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  const intro = `The settings inside ${names.slice(0, -1).join(", ")} and ${names.at(-1)} of a destination of any type:`;
  const rows = having.flatMap(([key, node]) => {
    if (node.kind !== "setting" || node.inside === undefined) return [];
    return node.inside.flatMap(({ isList, fields }) =>
      rowsOf(fields, [], [isList ? `${key}[]` : key], false),
    );
  });
  const head = ["| Setting | Value | Default | Meaning |", `|${"---|".repeat(4)}`];
  return [`${heading}\n\n${intro}\n\n${[...head, ...rows].join("\n")}`];
}

/** @param inEnvironment true if the settings have environment variables. Settings in lists have none. */
function settingTable(
  fields: Section<unknown>["fields"],
  path: readonly string[],
  inEnvironment: boolean,
  first: readonly string[] = [],
): string {
  const columns = [
    "Setting",
    ...(inEnvironment ? ["Environment"] : []),
    "Value",
    "Default",
    "Meaning",
  ];
  const rows = rowsOf(fields, path, [], inEnvironment);
  return [
    `| ${columns.join(" | ")} |`,
    `|${"---|".repeat(columns.length)}`,
    ...first,
    ...rows,
  ].join("\n");
}

function rowsOf(
  fields: Section<unknown>["fields"],
  path: readonly string[],
  below: readonly string[],
  inEnvironment: boolean,
): readonly string[] {
  const isTop = path.length === 0 && below.length === 0 && inEnvironment;
  return Object.entries(fields).flatMap(([key, node]) => {
    const name = [...below, key];
    const variable = inEnvironment ? [`\`${variableName([...path, ...name])}\``] : [];
    if (node.kind === "setting") {
      return [row(name, [...variable, ...valueAndDefault(node), node.doc])];
    }
    // At the top level, sections and lists have their own chapters.
    if (isTop) return [];
    if (node.kind === "section") {
      const own = node.takesFlag ? variable : variable.map(() => "");
      const fallback = node.isOptional ? "not set" : "";
      const value = node.takesFlag ? "true, false, or a map" : "a map";
      const head = row(name, [...own, value, fallback, node.doc]);
      return [head, ...rowsOf(node.fields, path, name, inEnvironment)];
    }
    const blank = variable.map(() => "");
    if (node.kind === "list") {
      const { min, max } = node.length;
      const head = row(name, [...blank, `a list of ${min} to ${max} maps`, "required", node.doc]);
      const item = node.item.kind === "section" ? node.item.fields : {};
      return [head, ...rowsOf(item, path, [...below, `${key}[]`], inEnvironment)];
    }
    return [
      row(name, [...blank, "a map", "not set", node.doc]),
      ...variantRows(node, path, name, inEnvironment),
    ];
  });
}

function variantRows(
  node: Extract<Node, { kind: "variants" }>,
  path: readonly string[],
  name: readonly string[],
  inEnvironment: boolean,
): readonly string[] {
  const tagName = [...name, node.tag];
  const variable = inEnvironment ? [`\`${variableName([...path, ...tagName])}\``] : [];
  const choices = Object.keys(node.sections).join(", ");
  const tag = row(tagName, [...variable, choices, "required", node.tagDoc]);
  const rows = Object.values(node.sections).flatMap((section) =>
    rowsOf(section.fields, path, name, inEnvironment),
  );
  // Variants share fields.
  return [tag, ...new Set(rows)];
}

function valueAndDefault(setting: Setting<unknown, Unit>): readonly [string, string] {
  const { decoder, fallback } = setting;
  if (fallback === undefined) return [decoder.expected, "required"];
  return [decoder.expected, fallback === null ? "not set" : `\`${JSON.stringify(fallback)}\``];
}

function row(name: readonly string[], cells: readonly string[]): string {
  return `| \`${name.join(".")}\` | ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

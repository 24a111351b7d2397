/** `docs/configuration.md` from the declarations of the settings. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Unit } from "../../src/config/decoder.ts";
import { variableName } from "../../src/config/environment.ts";
import type { Node, Section, Setting } from "../../src/config/setting.ts";
import { SETTINGS } from "../../src/config/settings.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/switchyard.yaml");

export function renderConfiguration(): string {
  const { fields } = SETTINGS;
  const sections = Object.entries(fields).filter(([, node]) => node.kind !== "setting");
  return `# Configuration

One YAML file in UTF-8, given as \`--config FILE\` or in \`SWITCHYARD_CONFIG\`. This page is generated from the
declarations in \`src/config/\` by \`npm run docs\`; a test compares the two.

- \`switchyard config check\` says whether a file can be used, and every problem with it at once: its
  path, what was found, what was expected. Unknown settings are problems.
- \`switchyard config print\` prints the effective configuration, secrets hidden.

## Values

| Kind | Form |
|---|---|
| duration | a number and its unit: \`ms\`, \`s\`, \`m\`, \`h\`, \`d\`; such as \`250ms\`, \`5s\`, \`1.5h\` |
| size | a number and its unit: \`B\`, \`KiB\`, \`MiB\`, \`GiB\`; such as \`64MiB\` |
| file | a path; a relative one starts at the folder of the configuration file |
| text | put it in quotes where YAML would read something else, such as a number or \`true\` |
| left out | a setting without a value (\`key:\`) counts as left out |

\`\${NAME}\` inside a text is replaced by the environment variable \`NAME\` as it was at process start, and
\`\${NAME:-default}\` by \`default\` where the variable is not set or empty. A variable that is not set and has no
default is a problem, and so is a variable inside a default. The file is read as YAML first, so that a
variable's value never becomes structure.
\`\${file:/run/secrets/crm}\` inside a text is replaced by the content of that file: text in UTF-8, at most 1 MiB, and not empty.
One newline at the end of a file or of a variable (\`\\n\` or \`\\r\\n\`) is not part of the value; \`config check\` warns of other whitespace, and of other characters that are not seen, around a secret. A file has no default: a file that is missing is a problem. A relative
path starts at the folder of the configuration file. The file is read again when it changes, so that secrets can be rotated
([changes while running](operations.md#changes-while-running)).
\`config print\` prints such a reference as it is written, and never the content.
\`$\${NAME}\` stands for \`\${NAME}\` itself. YAML's anchors and aliases work, merge keys (\`<<\`)
and tags such as \`!!set\` do not.

## Environment

Every setting outside the lists \`sources\` and \`destinations\` can also be set by an environment variable,
named in the tables. It wins over the file. Lists are written with commas; an empty variable counts as not set. An unknown
\`SWITCHYARD_...\` variable is a warning.

## Example

\`\`\`yaml
${readFileSync(EXAMPLE, "utf8").trim()}
\`\`\`

## Top level

${settingTable(fields, [], true)}

${sections.map(([key, node]) => chapter(node, [key])).join("\n\n")}
`;
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
    const tag = row([item.tag], [`\`${name}\``, "must be given", section.doc]);
    return `### \`${item.tag}: ${name}\`\n\n${settingTable(section.fields, [], false, [tag])}`;
  });
  return tables.join("\n\n");
}

/** @param inEnvironment whether the settings have variables; those in lists have none. */
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
    // At the top, sections and lists have chapters of their own.
    if (isTop) return [];
    if (node.kind === "section") {
      const own = node.takesFlag ? variable : variable.map(() => "");
      const fallback = node.isOptional ? "left out" : "";
      const value = node.takesFlag ? "true, false, or a map" : "a map";
      const head = row(name, [...own, value, fallback, node.doc]);
      return [head, ...rowsOf(node.fields, path, name, inEnvironment)];
    }
    const blank = variable.map(() => "");
    if (node.kind === "list") {
      const { min, max } = node.length;
      const head = row(name, [
        ...blank,
        `a list of ${min} to ${max} maps`,
        "must be given",
        node.doc,
      ]);
      const item = node.item.kind === "section" ? node.item.fields : {};
      return [head, ...rowsOf(item, path, [...below, `${key}[]`], inEnvironment)];
    }
    return [
      row(name, [...blank, "a map", "left out", node.doc]),
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
  const tag = row(tagName, [...variable, choices, "must be given", node.tagDoc]);
  const rows = Object.values(node.sections).flatMap((section) =>
    rowsOf(section.fields, path, name, inEnvironment),
  );
  // Variants share fields.
  return [tag, ...new Set(rows)];
}

function valueAndDefault(setting: Setting<unknown, Unit>): readonly [string, string] {
  const { decoder, fallback } = setting;
  if (fallback === undefined) return [decoder.expected, "must be given"];
  return [decoder.expected, fallback === null ? "left out" : `\`${JSON.stringify(fallback)}\``];
}

function row(name: readonly string[], cells: readonly string[]): string {
  return `| \`${name.join(".")}\` | ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

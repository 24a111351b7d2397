/** `docs/logs.md`: the tables of log lines and of their fields. */

import { type FieldSpec, LOG_FIELDS } from "../../src/base/telemetry/log-lines/fields.ts";
import { KAFKA_LINES } from "../../src/base/telemetry/log-lines/kafka-lines.ts";
import type { LineSpec, LineTable } from "../../src/base/telemetry/log-lines/line-spec.ts";
import { RUN_LINES } from "../../src/base/telemetry/log-lines/run-lines.ts";
import { STAGE_LINES } from "../../src/base/telemetry/log-lines/stage-lines.ts";
import { code, pageWith, readPage, table } from "./page.ts";

export function renderLogs(): string {
  const fields: readonly (readonly [string, FieldSpec])[] = Object.entries(LOG_FIELDS);
  return pageWith("docs/logs.md", {
    process: tableOf(RUN_LINES),
    Kafka: tableOf(KAFKA_LINES),
    stages: tableOf(STAGE_LINES, ["stage"]),
    fields: table(
      ["Field", "Meaning"],
      fields.flatMap(([name, { meaning }]) =>
        meaning === undefined ? [] : [[code(name), meaning]],
      ),
    ),
  });
}

/** @param common fields that each line has, and that the page names above the table */
function tableOf(lines: LineTable, common: readonly string[] = []): string {
  const rows = Object.entries(lines).map(([name, spec]) => {
    return row(name, { ...spec, fields: spec.fields.filter((field) => !common.includes(field)) });
  });
  return table(["Line", "Level", "Meaning", "Fields"], rows);
}

function row(name: string, { levels, meaning, action, fields, optional = [] }: LineSpec) {
  const named = [...fields.map(code), ...optional.map((field) => `${code(field)}?`)];
  const isProblem = levels.includes("warn") || levels.includes("error");
  const text = [meaning, action ?? (isProblem ? remedy(name) : null)]
    .filter((each) => each !== null)
    .join(" ");
  return [code(name), levels.join(", "), text, named.join(", ")];
}

/** A link to the section of docs/troubleshooting.md that names the line, or null. */
function remedy(name: string): string | null {
  const [, ...sections] = readPage("docs/troubleshooting.md").split(/\n##+ /);
  const title = sections.find((text) => text.includes(code(name)))?.split("\n", 1)[0];
  if (title === undefined) return null;
  const anchor = title.toLowerCase().replaceAll(" ", "-");
  return `See [${title}](troubleshooting.md#${anchor}).`;
}

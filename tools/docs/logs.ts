/** `docs/logs.md` from the tables of log lines and of their fields. */

import { type FieldSpec, LOG_FIELDS } from "../../src/telemetry/log-lines/fields.ts";
import { KAFKA_LINES } from "../../src/telemetry/log-lines/kafka-lines.ts";
import type { LineSpec, LineTable } from "../../src/telemetry/log-lines/line-spec.ts";
import { RUN_LINES } from "../../src/telemetry/log-lines/run-lines.ts";
import { STAGE_LINES } from "../../src/telemetry/log-lines/stage-lines.ts";

export function renderLogs(): string {
  const fields: readonly (readonly [string, FieldSpec])[] = Object.entries(LOG_FIELDS);
  return `# Log lines

Lines are JSON on standard output. This page is generated from \`src/telemetry/log-lines/\` by \`npm run docs\`. A line or a field
that is not on it does not compile.

- Every line has \`level\`, \`time\` (UTC) and \`msg\`, the name below. Search for the name: it stays, and sentences may change.
- Lines have no secret, no payload, no user id and no URL of an endpoint.
- \`log.level\` leaves out lines below a level. \`log.attempts\` leaves out lines of [accepted attempts](delivery.md#log-lines).
- Fields with \`?\` are on some of the lines.

## A process

${tableOf(RUN_LINES)}

## Kafka and the schema registry

${tableOf(KAFKA_LINES)}

## Stages

${tableOf(STAGE_LINES)}

## Fields

| Field | Holds | Meaning |
|---|---|---|
${fields.map(([name, { type, meaning }]) => `| \`${name}\` | ${type} | ${meaning} |`).join("\n")}
`;
}

function tableOf(lines: LineTable): string {
  const rows = Object.entries(lines).map(([name, spec]) => row(name, spec));
  return `| Line | Level | Meaning | Action | Fields |\n|---|---|---|---|---|\n${rows.join("\n")}`;
}

function row(name: string, { levels, meaning, action, fields, optional = [] }: LineSpec): string {
  const named = [
    ...fields.map((field) => `\`${field}\``),
    ...optional.map((field) => `\`${field}\`?`),
  ];
  return `| \`${name}\` | ${levels.join(", ")} | ${meaning} | ${action ?? "-"} | ${named.join(", ")} |`;
}

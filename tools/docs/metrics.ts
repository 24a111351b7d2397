/** `docs/metrics.md` from the table of metrics. */

import { METRICS, type MetricSpec } from "../../src/telemetry/metrics.ts";
import { QUERIES, type Subject } from "./metric-queries.ts";

export function renderMetrics(): string {
  const specs: readonly MetricSpec[] = Object.values(METRICS);
  return `# Metrics

\`GET /metrics\` on the admin port, in Prometheus' text format. This page is generated from
\`src/telemetry/metrics.ts\` by \`npm run docs\`; a test compares the two.

- Labels are bounded: destinations, stages, tiers, reasons, outcome classes. A URL, a user id or a message id is never a label.
- Gauges and lag are those of the partitions that this process owns. Add them up over processes.
- The usual \`process_*\` and \`nodejs_*\` metrics are there too. The event loop's delay is \`switchyard_event_loop_delay_seconds\`.

## Table

| Metric | Type | Labels | Meaning |
|---|---|---|---|
${specs.map(row).join("\n")}

## Buckets

Upper bounds of the histograms' buckets, in seconds:

${specs
  .filter((spec) => spec.buckets !== undefined)
  .map((spec) => `- \`${spec.name}\`: ${(spec.buckets ?? []).join(", ")}`)
  .join("\n")}

## Queries

[The runbook](runbook.md) has the alerts. A gauge that says since when something is so is 0, or absent, while it is not.

${QUERIES.map(subject).join("\n\n")}
`;
}

function subject({ subject: title, queries }: Subject): string {
  const rows = queries.map(([question, query]) => {
    return `| ${question} | \`${query.replaceAll("|", "\\|")}\` |`;
  });
  return [`### ${title}`, "", "| Question | Query |", "|---|---|", ...rows].join("\n");
}

function row({ name, type, labels, help }: MetricSpec): string {
  const named = labels.map((label) => `\`${label}\``).join(", ");
  return `| \`${name}\` | ${type} | ${named} | ${help} |`;
}

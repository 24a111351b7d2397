/** `docs/metrics.md` from the table of metrics. */

import { METRICS, type MetricSpec } from "../../src/telemetry/metrics.ts";

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

| Question | Query |
|---|---|
| Is a destination falling behind? | \`max by (destination) (switchyard_consumer_oldest_unfinished_age_seconds{stage="deliver"})\` |
| Is Kafka away? | \`min by (instance) (switchyard_kafka_connected) == 0\` |
| Is a lag not known? | \`sum by (instance, stage) (switchyard_consumers_with_unknown_lag) > 0\` for minutes |
| Does a consumer stand still? | \`time() - switchyard_consumer_last_heartbeat_timestamp_seconds > 60\` |
| Which destinations fail? | \`sum by (destination, outcome) (rate(switchyard_delivery_requests_total{outcome!="2xx"}[5m]))\` |
| How late are calls? | \`histogram_quantile(0.99, sum by (le, destination) (rate(switchyard_delivery_latency_seconds_bucket[5m])))\` |
| Is anything given up? | \`sum by (stage, reason) (increase(switchyard_dead_letters_total[1h]))\` |
| Is the schema registry away? | \`max(switchyard_registry_unreachable_since_timestamp_seconds) > 0\`; how many schemas are waited for: \`sum(switchyard_registry_waiting_schemas)\` |
| Do delay topics keep time? | \`histogram_quantile(0.99, sum by (le, tier) (rate(switchyard_delay_lateness_seconds_bucket[5m])))\` |
`;
}

function row({ name, type, labels, help }: MetricSpec): string {
  const named = labels.map((label) => `\`${label}\``).join(", ");
  return `| \`${name}\` | ${type} | ${named} | ${help} |`;
}

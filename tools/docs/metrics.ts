/** `docs/metrics.md`: the table of metrics. */

import { METRICS, type MetricSpec } from "../../src/base/telemetry/metrics.ts";
import { code, pageWith, table } from "./page.ts";

export function renderMetrics(): string {
  const specs: readonly MetricSpec[] = Object.values(METRICS);
  const rows = specs.map(({ name, labels, help }) => [
    code(name),
    labels.map(code).join(", "),
    help,
  ]);
  return pageWith("docs/metrics.md", {
    table: table(["Metric", "Labels", "Meaning"], rows),
  });
}

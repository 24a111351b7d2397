/** `docs/metrics.md`: the table of metrics, and the buckets of histograms. */

import { METRICS, type MetricSpec } from "../../src/telemetry/metrics.ts";
import { code, pageWith, table } from "./page.ts";

export function renderMetrics(): string {
  const specs: readonly MetricSpec[] = Object.values(METRICS);
  const rows = specs.map(({ name, type, labels, help }) => {
    return [code(name), type, labels.map(code).join(", "), help];
  });
  const histograms = specs.filter(({ buckets }) => buckets !== undefined);
  return pageWith("docs/metrics.md", {
    table: table(["Metric", "Type", "Labels", "Meaning"], rows),
    buckets: histograms
      .map(({ name, buckets = [] }) => `- ${code(name)}: ${buckets.join(", ")}`)
      .join("\n"),
  });
}

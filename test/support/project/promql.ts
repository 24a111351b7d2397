/** Finds the metrics and labels in a PromQL expression, for tests of files. */

import { METRICS, type MetricSpec } from "../../../src/base/telemetry/metrics.ts";

/** Metrics and labels of other programs: Prometheus, its client, and Kubernetes. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  up: [],
  process_cpu_seconds_total: [],
  process_open_fds: [],
  process_resident_memory_bytes: [],
  nodejs_heap_size_used_bytes: [],
  nodejs_heap_size_total_bytes: [],
  nodejs_gc_duration_seconds_sum: ["kind"],
  kube_cronjob_status_active: ["cronjob"],
  kube_cronjob_status_last_schedule_time: ["cronjob"],
  kube_cronjob_status_last_successful_time: ["cronjob"],
};
const SCRAPED = ["namespace", "job", "instance"];

const LABELS_OF = new Map<string, readonly string[]>([
  ...Object.entries(FOREIGN),
  ...Object.values(METRICS).flatMap((spec: MetricSpec) => named(spec)),
]);

function named({ name, type, labels }: MetricSpec): [string, readonly string[]][] {
  if (type !== "histogram") return [[name, labels]];
  const parts = ["_sum", "_count"].map((end): [string, readonly string[]] => [name + end, labels]);
  return [[`${name}_bucket`, [...labels, "le"]], ...parts];
}

/** Metrics and labels that nothing exports. Strings in matchers may contain Grafana's variables. */
export function unknownIn(expression: string, recorded: readonly string[] = []): readonly string[] {
  const problems: string[] = [];
  const names = expression.replaceAll(/"[^"]*"/g, '""');
  const known = new Set<string>(SCRAPED);
  for (const [, name = "", , matchers = ""] of names.matchAll(
    /\b(up|(?:switchyard|process|nodejs|kube)[a-z_:0-9]+)\b(\{([^}]*)\})?/g,
  )) {
    const labels = recorded.includes(name) ? [] : LABELS_OF.get(name);
    if (labels === undefined) problems.push(name);
    for (const label of labels ?? []) known.add(label);
    for (const [, label = ""] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
      if (![...(labels ?? []), ...SCRAPED].includes(label)) problems.push(`${name}{${label}}`);
    }
  }
  for (const [, list = ""] of names.matchAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g)) {
    const labels = list.split(",").map((label) => label.trim());
    problems.push(...labels.filter((label) => !known.has(label)));
  }
  return problems;
}

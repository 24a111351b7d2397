/** Panels of the dashboard, as Grafana's JSON. Every one has a title, a description and a unit. */

import { METRICS, type MetricSpec } from "../../src/telemetry/metrics.ts";

export type Unit = "percentunit" | "s" | "short" | "bytes" | "reqps" | "none";
export type Look = "stat" | "timeseries" | "bargauge" | "state-timeline" | "table";

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly look: Look;
  /** Of 24. */
  readonly width: number;
  readonly unit: Unit;
  /** By their legends. */
  readonly queries: Readonly<Record<string, string>>;
  /** From which values on it is yellow and red; of a share, below which. */
  readonly limits?: readonly [warning: number, critical: number];
  /** Names of values, such as of a breaker's states. */
  readonly names?: Readonly<Record<number, string>>;
}

export interface Text {
  readonly title: string;
  readonly description: string;
  readonly look: "text";
  readonly width: number;
  readonly markdown: string;
}

export interface Row {
  readonly title: string;
  readonly height: number;
  readonly panels: readonly (Panel | Text)[];
}

type Key = keyof typeof METRICS;

/** @param width of 24 */
export function look(
  kind: Look,
  width: number,
  unit: Unit,
): Pick<Panel, "look" | "width" | "unit"> {
  return { look: kind, width, unit };
}

/** Lines of one panel that a person can tell apart. */
const LINES_MAX = 20;

/** Of a panel with a line for each destination: with a thousand of them the largest are shown. */
export function most(expr: string): string {
  return `topk(${LINES_MAX}, ${expr})`;
}

/** Likewise, where little is bad. */
export function least(expr: string): string {
  return `bottomk(${LINES_MAX}, ${expr})`;
}

/** A metric of the table, of the chosen namespace, job, destination and stage as far as it has these labels. */
export function of(key: Key, matchers = ""): string {
  const spec: MetricSpec = METRICS[key];
  const end = spec.type === "histogram" ? "_bucket" : "";
  return `${spec.name}${end}{${selected(spec.labels, matchers)}}`;
}

/** A metric of the process that is not in the table. */
export function ofProcess(name: string): string {
  return `${name}{${selected([], "")}}`;
}

function selected(labels: readonly string[], matchers: string): string {
  const variables = ["destination", "stage"].filter((label) => labels.includes(label));
  return ["namespace", "job", ...variables]
    .map((label) => `${label}=~"$${label}"`)
    .concat(matchers === "" ? [] : [matchers])
    .join(", ");
}

export function rate(key: Key, matchers = ""): string {
  return `rate(${of(key, matchers)}[$__rate_interval])`;
}

/** How many in the time that the dashboard shows. */
export function counted(key: Key, matchers = ""): string {
  return `increase(${of(key, matchers)}[$__range])`;
}

export function quantile(share: number, key: Key, by: readonly string[] = []): string {
  return `histogram_quantile(${share}, sum by (${["le", ...by].join(", ")}) (${rate(key)}))`;
}

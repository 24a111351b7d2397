/** Panels of the dashboard, as Grafana's JSON. Every panel has a title, a description and a unit. */

import { METRICS, type MetricSpec } from "../../src/base/telemetry/metrics.ts";

export type Unit = "percentunit" | "s" | "short" | "bytes" | "reqps" | "none";
export type Look = "stat" | "timeseries" | "bargauge" | "state-timeline" | "table";

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly look: Look;
  /** In columns; the dashboard has 24. */
  readonly width: number;
  readonly unit: Unit;
  /** Queries by legend. */
  readonly queries: Readonly<Record<string, string>>;
  /** The values from which the panel is yellow or red. For a share, it is yellow or red below these values. */
  readonly limits?: readonly [warning: number, critical: number];
  /** Names of values, such as the states of a circuit. */
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

/** @param width in columns, of 24 */
export function look(
  kind: Look,
  width: number,
  unit: Unit,
): Pick<Panel, "look" | "width" | "unit"> {
  return { look: kind, width, unit };
}

/** Maximum number of lines in a panel. With more lines, they could not be distinguished. */
const LINES_MAX = 20;

/** Returns a query for the largest values, for panels with a line per destination. */
export function most(expr: string): string {
  return `topk(${LINES_MAX}, ${expr})`;
}

/** Returns a query for the smallest values, if a small value is bad. */
export function least(expr: string): string {
  return `bottomk(${LINES_MAX}, ${expr})`;
}

/**
 * Returns a metric of the table, filtered by the selected namespace, job, destination and stage if it has these labels.
 */
export function of(key: Key, matchers = ""): string {
  const spec: MetricSpec = METRICS[key];
  const end = spec.type === "histogram" ? "_bucket" : "";
  return `${spec.name}${end}{${selected(spec.labels, matchers)}}`;
}

/** Returns a process metric that is not in the table. */
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

/** Returns the increase in the selected time range. */
export function counted(key: Key, matchers = ""): string {
  return `increase(${of(key, matchers)}[$__range])`;
}

export function quantile(share: number, key: Key, by: readonly string[] = []): string {
  return `histogram_quantile(${share}, sum by (${["le", ...by].join(", ")}) (${rate(key)}))`;
}

/** Renders the dashboard as Grafana's JSON: variables, rows, and the position of each panel. */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import { DELIVERY_ROWS } from "./delivery-rows.ts";
import type { Panel, Row, Text } from "./panel.ts";
import { PROCESS_ROWS } from "./process-rows.ts";

/** Grafana 11 and 12 support this version. */
const SCHEMA_VERSION = 39;
const COLUMNS = 24;
const SOURCE = { type: "prometheus", uid: "$datasource" };

export const ROWS: readonly Row[] = [...DELIVERY_ROWS, ...PROCESS_ROWS];

export function renderDashboard(): string {
  const dashboard = {
    uid: "switchyard",
    title: "Switchyard",
    description:
      "Customer data from Kafka to signed webhooks. docs/troubleshooting.md#alerts describes how to fix the cause of each alert.",
    tags: ["switchyard"],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    timezone: "browser",
    templating: { list: variables() },
    panels: placed(ROWS),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function variables(): readonly object[] {
  const { attempts, buildInfo, recordsIn } = METRICS;
  return [
    { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
    variable("namespace", "Namespace", `label_values(${buildInfo.name}, namespace)`),
    variable("job", "Job", `label_values(${buildInfo.name}{namespace=~"$namespace"}, job)`),
    variable(
      "destination",
      "Destination",
      `label_values(${attempts.name}{namespace=~"$namespace", job=~"$job"}, destination)`,
    ),
    variable(
      "stage",
      "Stage",
      `label_values(${recordsIn.name}{namespace=~"$namespace", job=~"$job"}, stage)`,
    ),
  ];
}

/** "All" also matches an empty label, because shared stages have no destination. */
function variable(name: string, label: string, query: string): object {
  return {
    name,
    label,
    type: "query",
    datasource: SOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: ".*",
    current: { text: "All", value: "$__all" },
  };
}

/** Places the rows below each other, and the panels of a row from left to right, in as many lines as needed. */
function placed(rows: readonly Row[]): readonly object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, height, panels: own } of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    for (const panel of own) {
      if (x + panel.width > COLUMNS) {
        x = 0;
        y += height;
      }
      const gridPos = { x, y, w: panel.width, h: height };
      panels.push({
        id: panels.length + 1,
        ...(panel.look === "text" ? text(panel) : drawn(panel)),
        gridPos,
      });
      x += panel.width;
    }
    y += height;
  }
  return panels;
}

function text({ title, description, markdown }: Text): object {
  return { type: "text", title, description, options: { mode: "markdown", content: markdown } };
}

function drawn(panel: Panel): object {
  const { title, description, look, queries } = panel;
  const isOneValue = look === "table" || look === "stat" || look === "bargauge";
  const targets = Object.entries(queries).map(([legend, expr], at) => ({
    refId: String.fromCharCode(65 + at),
    datasource: SOURCE,
    expr,
    legendFormat: legend === "" ? "__auto" : legend,
    ...(isOneValue ? { instant: true, range: false } : { range: true }),
    ...(look === "table" ? { format: "table" } : {}),
  }));
  const hidden = { id: "organize", options: { excludeByName: { Time: true } } };
  return {
    type: look,
    title,
    description,
    datasource: SOURCE,
    targets,
    ...(look === "table" ? { transformations: [hidden] } : {}),
    fieldConfig: { defaults: defaults(panel), overrides: [] },
    options: options(look),
  };
}

function defaults({ look, unit, limits, names }: Panel): object {
  const line = {
    drawStyle: "line",
    lineWidth: 1,
    fillOpacity: 8,
    showPoints: "never",
    spanNulls: false,
  };
  return {
    unit,
    ...(unit === "percentunit" ? { max: 1 } : {}),
    // On a scale that does not start at zero, a small change would look like an outage. A share is an exception.
    ...(look === "timeseries" && unit !== "percentunit" ? { min: 0 } : {}),
    color: { mode: look === "timeseries" ? "palette-classic" : "thresholds" },
    thresholds: { mode: "absolute", steps: steps(limits) },
    mappings: names === undefined ? [] : [{ type: "value", options: named(names) }],
    ...(look === "timeseries" ? { custom: line } : {}),
  };
}

const COLORS = ["green", "yellow", "orange", "red"];

function named(names: Readonly<Record<number, string>>): object {
  const values = Object.entries(names);
  return Object.fromEntries(
    values.map(([value, name], index) => [
      value,
      { text: name, index, color: colorOf(name, index) },
    ]),
  );
}

function colorOf(name: string, index: number): string | undefined {
  if (name === "reachable" || name === "delivering" || name === "closed") return "green";
  if (name === "unreachable" || name === "open" || name === "on hold") return "red";
  return COLORS[index];
}

function steps(limits: Panel["limits"]): readonly object[] {
  if (limits === undefined) return [{ color: "blue", value: null }];
  const [warning, critical] = limits;
  // For a share, lower values are worse.
  return warning > critical
    ? [
        { color: "red", value: null },
        { color: "yellow", value: critical },
        { color: "green", value: warning },
      ]
    : [
        { color: "green", value: null },
        { color: "yellow", value: warning },
        { color: "red", value: critical },
      ];
}

function options(look: Panel["look"]): object {
  const reduceOptions = { calcs: ["lastNotNull"], fields: "", values: false };
  if (look === "timeseries") {
    return {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    };
  }
  if (look === "stat") return { reduceOptions, colorMode: "value", graphMode: "none" };
  if (look === "bargauge")
    return { reduceOptions, orientation: "horizontal", displayMode: "basic" };
  if (look === "state-timeline") return { mergeValues: true, showValue: "auto", rowHeight: 0.8 };
  return { showHeader: true };
}

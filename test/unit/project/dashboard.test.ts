// The dashboard: each panel can be read by somebody who has never seen it, and asks for what exists.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { METRICS, type MetricSpec } from "../../../src/base/telemetry/metrics.ts";
import { unknownIn } from "../../support/project/promql.ts";
import { ROOT } from "../../support/project/tracked-texts.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
}

const dashboard: {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: unknown }[];
  };
} = JSON.parse(readFileSync(join(ROOT, "deploy/grafana/dashboard.json"), "utf8"));
const drawn = dashboard.panels.filter(({ type }) => type !== "row");
const asking = drawn.flatMap(({ title, targets }) =>
  (targets ?? []).map((target) => ({ title, ...target })),
);

/** Grafana's variables, as Prometheus would see them. */
function filled(expression: string): string {
  return expression.replaceAll(/\$__(?:rate_interval|range)/g, "5m");
}

test("every metric and label that a panel uses is exported", () => {
  expect(asking.length).toBeGreaterThan(30);
  const unknown = asking.map(({ title, expr }) => [title, unknownIn(filled(expr))]);
  expect(unknown.filter(([, problems]) => problems?.length)).toEqual([]);
});

test("a panel says what it shows, in which unit, of the chosen data source", () => {
  for (const { type, title, description, datasource, fieldConfig } of drawn) {
    expect(description, title).toMatch(/\.$/);
    if (type === "text") continue;
    expect(datasource?.uid, title).toBe("$datasource");
    expect(fieldConfig?.defaults.unit, title).toMatch(/\S/);
  }
});

test("rates are over the interval that fits the scrape, and everything follows the variables", () => {
  const names = Object.values(METRICS) as readonly MetricSpec[];
  for (const { title, expr } of asking) {
    for (const [, range] of expr.matchAll(/\[([^\]]+)\]/g)) {
      expect(["$__rate_interval", "$__range"], title).toContain(range);
    }
    for (const [, name = "", matchers] of expr.matchAll(/\b(switchyard_\w+)\{([^}]*)\}/g)) {
      expect(matchers, title).toContain('namespace=~"$namespace"');
      expect(matchers, title).toContain('job=~"$job"');
      const labels = names.find((spec) => name.startsWith(spec.name))?.labels ?? [];
      if (labels.includes("destination")) expect(matchers).toContain('destination=~"$destination"');
      if (labels.includes("stage")) expect(matchers, title).toContain('stage=~"$stage"');
    }
  }
});

test("a legend names labels that its query keeps", () => {
  for (const { title, expr, legendFormat } of asking) {
    const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
      list.split(", "),
    );
    for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      expect(kept.length === 0 ? ["instance"] : kept, title).toContain(label);
    }
  }
});

test("a line for each destination is a line for the 20 that matter most", () => {
  const byDestination = asking.filter(({ expr }) => /\bby \([^)]*\bdestination\b/.test(expr));
  expect(byDestination.length).toBeGreaterThan(10);
  for (const { title, expr } of byDestination) {
    expect(expr, title).toMatch(/^(?:topk|bottomk)\(20, /);
  }
});

test("panels have ids of their own, lie inside, and cover no other", () => {
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const cells = new Set<string>();
  for (const { title, gridPos } of dashboard.panels) {
    const { x, y, w, h } = gridPos;
    expect(x + w, title).toBeLessThanOrEqual(24);
    for (let at = 0; at < w * h; at += 1) {
      const cell = `${x + (at % w)} ${y + Math.floor(at / w)}`;
      expect(cells.has(cell), `${title} at ${cell}`).toBe(false);
      cells.add(cell);
    }
  }
});

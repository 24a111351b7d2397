// The alert rules: what they name exists, each has an entry in the runbook, and tests of its own.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { anchors } from "../../support/project/citations.ts";
import { QUERIES } from "../../support/project/metric-queries.ts";
import { unknownIn } from "../../support/project/promql.ts";
import { ROOT } from "../../support/project/tracked-texts.ts";

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Promtool {
  readonly tests: readonly {
    readonly name: string;
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}

const TESTS = "deploy/prometheus/tests";
const groups: readonly { readonly rules: readonly Rule[] }[] = parse(
  read("deploy/prometheus/rules.yaml"),
).groups;
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.flatMap((rule) =>
  rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }],
);
const recorded = rules.flatMap(({ record }) => record ?? []);

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

test("every metric and label that a rule uses is exported", () => {
  expect(alerts.length).toBeGreaterThan(20);
  const unknown = rules.map(({ alert, record, expr }) => [
    alert ?? record,
    unknownIn(expr, recorded),
  ]);
  expect(unknown.filter(([, problems]) => problems?.length)).toEqual([]);
});

test("every metric and label of the queries in docs/metrics.md is exported", () => {
  expect(QUERIES.length).toBeGreaterThan(20);
  const unknown = QUERIES.map((query) => unknownIn(query));
  expect(unknown.flat()).toEqual([]);
});

test.each([
  ["switchyard_destination_on_hold > 0", []],
  ['sum by (destination) (rate(switchyard_dead_letters_total{reason="x"}[5m]))', []],
  ["histogram_quantile(0.9, sum by (le) (switchyard_produce_duration_seconds_bucket))", []],
  ["switchyard_line_hold > 0", ["switchyard_line_hold"]],
  ['switchyard_destination_on_hold{cause="x"}', ["switchyard_destination_on_hold{cause}"]],
  ["max by (delay) (switchyard_destination_on_hold)", ["delay"]],
  ["switchyard_produce_duration_seconds", ["switchyard_produce_duration_seconds"]],
])("unknown in %s: %j", (expression, unknown) => {
  expect(unknownIn(expression)).toEqual(unknown);
});

test("each alert has a severity, a summary, a description, and an entry in the runbook", () => {
  const headings = anchors(read("docs/troubleshooting.md"));
  for (const { alert, labels, annotations } of alerts) {
    expect(["critical", "warning", "info"], alert).toContain(labels?.severity);
    expect(annotations?.summary, alert).toMatch(/\.$/);
    expect(annotations?.description, alert).toMatch(/\S/);
    expect(annotations?.runbook_url, alert).toBe(`docs/troubleshooting.md#${alert.toLowerCase()}`);
    expect([...headings], alert).toContain(alert.toLowerCase());
  }
});

test("the runbook has no entry of an alert that is gone", () => {
  const entries = [...read("docs/troubleshooting.md").matchAll(/^### (Switchyard\w+)$/gm)];
  const expected = alerts.map(({ alert }) => alert);
  expect(new Set(entries.map(([, name]) => name))).toEqual(new Set(expected));
});

test("each alert has a test in which it fires, and one in which it stays quiet", () => {
  const tested = readdirSync(join(ROOT, TESTS)).flatMap((file) => {
    const { tests }: Promtool = parse(read(join(TESTS, file)));
    return tests.flatMap(({ alert_rule_test }) =>
      alert_rule_test.map(
        ({ alertname, exp_alerts }) =>
          `${alertname} ${exp_alerts.length > 0 ? "fires" : "is quiet"}`,
      ),
    );
  });
  const wanted = alerts.flatMap(({ alert }) => [`${alert} fires`, `${alert} is quiet`]);
  expect(new Set(tested)).toEqual(new Set(wanted));
});

// Rates and breakers, from two looks at the metrics of processes.

import { expect, test } from "vitest";

import { parseMetrics } from "../../src/cli/metrics-text.ts";
import { breakersOf, type Process, rateOf } from "../../src/cli/rates.ts";

test("reads Prometheus' text format", () => {
  const text = [
    "# HELP a_total help",
    "# TYPE a_total counter",
    "a_total 3",
    'b{x="1",y="a \\"b\\" \\\\ c\\n,}"} 1.5e3 1700000000000',
    'c{quantile="0.5"} NaN',
    'd_bucket{le="+Inf"} +Inf',
    "no format at all",
    "",
  ].join("\n");
  expect(parseMetrics(text)).toEqual([
    { name: "a_total", labels: {}, value: 3 },
    { name: "b", labels: { x: "1", y: 'a "b" \\ c\n,}' }, value: 1_500 },
  ]);
});

/** Half a minute between two looks. */
function process(before: string, after: string): Process {
  const look = (atMs: number, text: string) => ({ atMs, samples: parseMetrics(text) });
  return { before: look(0, before), after: look(30_000, after) };
}

const attempts = (outcome: string, count: number) =>
  `switchyard_delivery_attempts_total{destination="crm",outcome="${outcome}"} ${count}\n`;
const runs = (stage: string, destination: string) =>
  `switchyard_consumer_lag_records{stage="${stage}",destination="${destination}"} 0\n`;

test("deliver: accepted attempts and others, over all processes that run it", () => {
  const crm = runs("deliver", "crm");
  const processes = [
    process(
      crm + attempts("accepted", 10) + attempts("parked", 4),
      crm + attempts("accepted", 30) + attempts("parked", 5) + attempts("rejected", 2),
    ),
    // Started in between, so it has counted less than before.
    process(crm + attempts("accepted", 900), crm + attempts("accepted", 7)),
    process("", runs("deliver", "other") + attempts("accepted", 1_000)),
  ];
  expect(rateOf(processes, "deliver", "crm")).toEqual({
    donePerMinute: 54,
    failedPerMinute: 6,
  });
  expect(rateOf(processes, "deliver", "unknown")).toBe(null);
  expect(rateOf(processes, "route", null)).toBe(null);
  expect(rateOf([], "deliver", "crm")).toBe(null);
});

test.each([
  ["route", "switchyard_records_in_total"],
  ["delay", "switchyard_records_out_total"],
])("%s: %s and what it refused, for any reason", (stage, name) => {
  const refused = (reason: string, count: number) =>
    `switchyard_records_refused_total{stage="${stage}",reason="${reason}"} ${count}\n`;
  const counted = (count: number) => `${runs(stage, "")}${name}{stage="${stage}"} ${count}\n`;
  const strange = `${name}{stage="other"} 5000\n`;
  const both = process(
    counted(100) + refused("a", 1),
    counted(160) + refused("a", 2) + refused("b", 3) + strange,
  );
  expect(rateOf([both], stage, null)).toEqual({ donePerMinute: 120, failedPerMinute: 8 });
});

test("a breaker is as bad as the worst process says", () => {
  const state = (endpoint: string, value: number) =>
    `switchyard_breaker_state{destination="crm",endpoint="${endpoint}"} ${value}\n`;
  const one = process("", state("a", 0) + state("b", 1) + state("c", 0));
  const other = process("", state("a", 2) + state("b", 0));
  expect(breakersOf([one, other], "crm")).toEqual({ endpoints: 3, open: 1, halfOpen: 1 });
  expect(breakersOf([one], "else")).toBe(null);
});

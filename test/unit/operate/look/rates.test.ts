// Rates and deliveries that wait, from two looks at the metrics of processes.

import { expect, test } from "vitest";

import { parseMetrics } from "../../../../src/operate/connect/metrics-text.ts";
import {
  awaitingRetryOf,
  haltedAt,
  METRICS_USED,
  nextDueOf,
  oldestOf,
  type Process,
  rateOf,
  skippedOf,
  unwritableTopics,
} from "../../../../src/operate/look/rates.ts";

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
      crm + attempts("accepted", 10) + attempts("retry", 4),
      crm + attempts("accepted", 30) + attempts("retry", 5) + attempts("rejected", 2),
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
    `switchyard_records_rejected_total{stage="${stage}",reason="${reason}"} ${count}\n`;
  const counted = (count: number) => `${runs(stage, "")}${name}{stage="${stage}"} ${count}\n`;
  const strange = `${name}{stage="other"} 5000\n`;
  const both = process(
    counted(100) + refused("a", 1),
    counted(160) + refused("a", 2) + refused("b", 3) + strange,
  );
  expect(rateOf([both], stage, null)).toEqual({ donePerMinute: 120, failedPerMinute: 8 });
});

test("a topic takes nothing since the first process says so, and all of them count what went around", () => {
  const since = (topic: string, destination: string, value: number) =>
    `switchyard_topic_not_writable_since_timestamp_seconds{topic="${topic}",destination="${destination}"} ${value}\n`;
  const around = (stage: string, count: number) =>
    `switchyard_deliveries_rerouted_total{stage="${stage}",destination="crm"} ${count}\n`;
  const one = process("", since("d.crm", "crm", 120) + around("route", 5) + around("delay", 2));
  const other = process("", since("d.crm", "crm", 60) + since("x", "", 90) + around("route", 3));
  const over = process("", since("d.else", "else", 0));
  expect(unwritableTopics([one, other, over])).toEqual([
    { topic: "d.crm", since: "1970-01-01T00:01:00.000Z", rerouted: 10 },
    { topic: "x", since: "1970-01-01T00:01:30.000Z", rerouted: null },
  ]);
});

test("skipped calls are counted by reason over all processes, if one of them routes", () => {
  const skipped = (reason: string, count: number, destination = "crm") =>
    `switchyard_route_calls_skipped_total{destination="${destination}",reason="${reason}"} ${count}\n`;
  const one = process("", runs("route", "") + skipped("filtered", 4) + skipped("disabled", 0));
  const other = process(
    "",
    runs("route", "") +
      skipped("filtered", 3) +
      skipped("no-consent", 2) +
      skipped("filtered", 9, "x"),
  );
  expect(Object.entries(skippedOf([one, other], "crm") ?? {})).toEqual([
    ["no-consent", 2],
    ["filtered", 7],
  ]);
  expect(skippedOf([one], "none")).toEqual({});
  expect(skippedOf([process("", runs("deliver", "crm"))], "crm")).toBe(null);
});

const waits = (delay: string, count: number, destination = "crm") =>
  `switchyard_deliveries_awaiting_retry{destination="${destination}",delay="${delay}"} ${count}\n`;
const unknown = (count: number) => `switchyard_delay_uncounted_partitions{delay="10s"} ${count}\n`;

test("deliveries that wait are counted by tier over all processes", () => {
  const one = process("", waits("10s", 4) + waits("2m", 1) + unknown(0));
  const other = process("", waits("10s", 3) + waits("10s", 9, "else") + unknown(0));
  expect(awaitingRetryOf([one, other], "crm")).toEqual({ "10s": 7, "2m": 1 });
  expect(awaitingRetryOf([one], "none")).toEqual({});
});

test("they are not known while a process still counts, or none runs delay", () => {
  const one = process("", waits("10s", 4) + unknown(0));
  expect(awaitingRetryOf([one, process("", unknown(2))], "crm")).toBe(null);
  expect(awaitingRetryOf([process("", runs("deliver", "crm"))], "crm")).toBe(null);
});

test("the next one due is the earliest, the oldest record the oldest of all processes", () => {
  const due = (atS: number) =>
    `switchyard_deliveries_next_retry_timestamp_seconds{destination="crm"} ${atS}\n`;
  const age = (seconds: number) =>
    `switchyard_consumer_oldest_unprocessed_age_seconds{stage="deliver",destination="crm"} ${seconds}\n`;
  const both = [process("", due(70) + age(5)), process("", due(60.5) + age(9))];
  expect(nextDueOf(both, "crm")).toBe(60_500);
  expect(oldestOf(both, "crm")).toBe(9_000);
  expect(nextDueOf(both, "else")).toBe(null);
  expect(oldestOf([process("", age(0))], "crm")).toBe(null);
});

test("everything that is read of a process is kept of its answer", () => {
  const skips = 'switchyard_route_calls_skipped_total{destination="crm",reason="filtered"} 1\n';
  const texts = [skips, waits("10s", 1), unknown(0), runs("route", ""), attempts("accepted", 1)];
  const names = texts.flatMap((text) => parseMetrics(text)).map(({ name }) => name);
  names.push("switchyard_consumer_halted_offset");
  expect(names.filter((name) => !METRICS_USED.has(name))).toEqual([]);
});

test.each([
  ["route", null, true],
  ["deliver", "crm", true],
  ["deliver", "other", false],
  ["delay", null, false],
])("whether %s of %s is halted", (stage, destination, expected) => {
  const at = 'topic="t",partition="3"';
  const halted = (labels: string, value: number) =>
    `switchyard_consumer_halted{${labels}} ${value}\n${
      value === 0 ? "" : `switchyard_consumer_halted_offset{${labels},${at}} 42\n`
    }`;
  const one = process("", halted('stage="route",destination=""', 0));
  const other = process(
    halted('stage="delay",destination=""', 1),
    halted('stage="route",destination=""', 1) +
      halted('stage="deliver",destination="crm"', 1) +
      halted('stage="deliver",destination="other"', 0),
  );
  const halts = expected ? [{ topic: "t", partition: 3, offset: 42 }] : [];
  expect(haltedAt([one, other, other], stage, destination, [])).toEqual(halts);
});

test("a damaged batch at which a group stands is told of once, also without a process", () => {
  const text =
    'switchyard_consumer_halted_offset{stage="route",destination="",topic="t",partition="3"} 40\n';
  const seen = [3, 4].map((partition) => ({ topic: "t", partition, offset: 42 }));
  expect(haltedAt([], "route", null, seen)).toEqual(seen);
  expect(haltedAt([process("", text)], "route", null, seen)).toEqual(seen);
});

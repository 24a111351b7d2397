// Rates and deliveries that await retry, from two readings of processes.

import { expect, test } from "vitest";

import {
  awaitingRetryOf,
  haltedAt,
  nextDueOf,
  oldestOf,
  rateOf,
  skippedOf,
  suppressionsOf,
  unwritableTopics,
} from "../../../../src/operator/look/rates.ts";
import { type Count, polledProcess } from "../../../support/build/status-report.ts";

const nothing: Count = () => undefined;
const all =
  (...counts: readonly Count[]): Count =>
  (metrics) => {
    for (const count of counts) count(metrics);
  };

const attempts =
  (outcome: string, count: number): Count =>
  (metrics) =>
    metrics.attempts.bind({ destination: "crm", outcome }).inc(count);
const runs =
  (stage: string, destination: string): Count =>
  (metrics) =>
    metrics.lag.bind({ stage, destination }).set(0);

test("deliver: accepted attempts and others, over all processes that run it", () => {
  const crm = runs("deliver", "crm");
  const processes = [
    polledProcess(
      all(crm, attempts("accepted", 10), attempts("retry", 4)),
      all(crm, attempts("accepted", 30), attempts("retry", 5), attempts("rejected", 2)),
    ),
    // The process was restarted in between, so its counters are lower than before.
    polledProcess(all(crm, attempts("accepted", 900)), all(crm, attempts("accepted", 7))),
    polledProcess(nothing, all(runs("deliver", "other"), attempts("accepted", 1_000))),
  ];
  expect(rateOf(processes, "deliver", "crm")).toEqual({ donePerMinute: 54, failedPerMinute: 6 });
  expect(rateOf(processes, "deliver", "unknown")).toBe(null);
  expect(rateOf(processes, "route", null)).toBe(null);
  expect(rateOf([], "deliver", "crm")).toBe(null);
});

test.each([
  ["route", "recordsIn"],
  ["delay", "recordsOut"],
] as const)("%s: %s and what it rejected, for any reason", (stage, name) => {
  const rejected =
    (reason: string, count: number): Count =>
    (metrics) =>
      metrics.recordsRefused.bind({ stage, reason }).inc(count);
  const counted =
    (of: string, count: number): Count =>
    (metrics) =>
      metrics[name].bind({ stage: of }).inc(count);
  const both = polledProcess(
    all(runs(stage, ""), counted(stage, 100), rejected("a", 1)),
    all(
      ...[runs(stage, ""), counted(stage, 160), rejected("a", 2), rejected("b", 3)],
      counted("other", 5_000),
    ),
  );
  expect(rateOf([both], stage, null)).toEqual({ donePerMinute: 120, failedPerMinute: 8 });
});

test("a topic is not writable since the first process reports it, and all of them count reroutes", () => {
  const since =
    (topic: string, destination: string, value: number): Count =>
    (metrics) =>
      metrics.topicBlockedSince.bind({ topic, destination }).set(value);
  const rerouted =
    (stage: string, count: number): Count =>
    (metrics) =>
      metrics.rerouted.bind({ stage, destination: "crm" }).inc(count);
  const processes = [
    all(since("d.crm", "crm", 120), rerouted("route", 5), rerouted("delay", 2)),
    all(since("d.crm", "crm", 60), since("x", "", 90), rerouted("route", 3)),
    since("d.else", "else", 0),
  ].map((count) => polledProcess(nothing, count));
  expect(unwritableTopics(processes)).toEqual([
    { topic: "d.crm", since: "1970-01-01T00:01:00.000Z", rerouted: 10 },
    { topic: "x", since: "1970-01-01T00:01:30.000Z", rerouted: null },
  ]);
});

test("the suppressed users are those of the process that knows most, and the time that of the slowest", () => {
  const knows =
    (users: number, changedAtS: number): Count =>
    (metrics) => {
      metrics.suppressedUsers.bind({}).set(users);
      metrics.suppressionsChangedAt.bind({}).set(changedAtS);
    };
  const of = (...each: readonly Count[]) =>
    suppressionsOf(each.map((count) => polledProcess(nothing, count)));
  expect(of(knows(3, 90), knows(2, 60), runs("delay", ""))).toEqual({
    users: 3,
    changedAt: "1970-01-01T00:01:00.000Z",
  });
  // A process that has not read any change yet, or does not report its time.
  expect(of(knows(3, 90), knows(0, 0))).toEqual({ users: 3, changedAt: null });
  expect(of((metrics) => metrics.suppressedUsers.bind({}).set(1))).toEqual({
    users: 1,
    changedAt: null,
  });
  expect(of(runs("delay", ""))).toBe(null);
});

test("skipped calls are counted by reason over all processes, if one of them routes", () => {
  const skipped =
    (reason: string, count: number, destination = "crm"): Count =>
    (metrics) =>
      metrics.callsSkipped.bind({ destination, reason }).inc(count);
  const one = polledProcess(
    nothing,
    all(runs("route", ""), skipped("filtered", 4), skipped("disabled", 0)),
  );
  const other = polledProcess(
    nothing,
    all(
      ...[runs("route", ""), skipped("filtered", 3), skipped("no-consent", 2)],
      skipped("filtered", 9, "x"),
    ),
  );
  expect(Object.entries(skippedOf([one, other], "crm") ?? {})).toEqual([
    ["no-consent", 2],
    ["filtered", 7],
  ]);
  expect(skippedOf([one], "none")).toEqual({});
  expect(skippedOf([polledProcess(nothing, runs("deliver", "crm"))], "crm")).toBe(null);
});

const waits =
  (delay: string, count: number, destination = "crm"): Count =>
  (metrics) =>
    metrics.deliveriesWaiting.bind({ destination, delay }).set(count);
const unknown =
  (count: number): Count =>
  (metrics) =>
    metrics.waitingUnknown.bind({ delay: "10s" }).set(count);

test("deliveries that await retry are counted by delay over all processes", () => {
  const one = polledProcess(nothing, all(waits("10s", 4), waits("2m", 1), unknown(0)));
  const other = polledProcess(nothing, all(waits("10s", 3), waits("10s", 9, "else"), unknown(0)));
  expect(awaitingRetryOf([one, other], "crm")).toEqual({ "10s": 7, "2m": 1 });
  expect(awaitingRetryOf([one], "none")).toEqual({});
});

test("their number is unknown while a process still counts, or none runs delay", () => {
  const one = polledProcess(nothing, all(waits("10s", 4), unknown(0)));
  expect(awaitingRetryOf([one, polledProcess(nothing, unknown(2))], "crm")).toBe(null);
  expect(awaitingRetryOf([polledProcess(nothing, runs("deliver", "crm"))], "crm")).toBe(null);
});

test("the next one due is the earliest, the oldest record the oldest of all processes", () => {
  const destination = "crm";
  const due =
    (atS: number): Count =>
    (metrics) =>
      metrics.nextDue.bind({ destination }).set(atS);
  const age =
    (seconds: number): Count =>
    (metrics) =>
      metrics.oldestUnfinished.bind({ stage: "deliver", destination }).set(seconds);
  const both = [all(due(70), age(5)), all(due(60.5), age(9))].map((count) =>
    polledProcess(nothing, count),
  );
  expect(nextDueOf(both, "crm")).toBe(60_500);
  expect(oldestOf(both, "crm")).toBe(9_000);
  expect(nextDueOf(both, "else")).toBe(null);
  expect(oldestOf([polledProcess(nothing, age(0))], "crm")).toBe(null);
});

const halted =
  (stage: string, destination: string, offset = 42): Count =>
  (metrics) =>
    metrics.haltedOffset.bind({ stage, destination, topic: "t", partition: "3" }).set(offset);

test.each([
  ["route", null, true],
  ["deliver", "crm", true],
  ["deliver", "other", false],
  ["delay", null, false],
])("whether %s of %s is halted", (stage, destination, expected) => {
  const one = polledProcess(nothing, nothing);
  const other = polledProcess(nothing, all(halted("route", ""), halted("deliver", "crm")));
  const halts = expected ? [{ topic: "t", partition: 3, offset: 42 }] : [];
  expect(haltedAt([one, other, other], stage, destination, [])).toEqual(halts);
});

test("a corrupt batch at the position of a group is reported once, also without a process", () => {
  const seen = [3, 4].map((partition) => ({ topic: "t", partition, offset: 42 }));
  expect(haltedAt([], "route", null, seen)).toEqual(seen);
  const process = polledProcess(nothing, halted("route", "", 40));
  expect(haltedAt([process], "route", null, seen)).toEqual(seen);
});

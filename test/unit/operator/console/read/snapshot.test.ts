// The report of `status` is converted to the snapshot from which views are created.

import { expect, test } from "vitest";

import { snapshotOf } from "../../../../../src/operator/console/read/snapshot.ts";
import type { StatusReport } from "../../../../../src/operator/look/report.ts";
import { config, SMALL } from "../../../../support/build/config-source.ts";
import { destinationReport, processReport } from "../../../../support/build/status-report.ts";

const AT = "2026-03-01T09:00:00.500Z";

function report(over: Partial<StatusReport> = {}): StatusReport {
  const none = {
    stages: [],
    destinations: [],
    delayTopics: [],
    unwritableTopics: [],
    recordsLost: [],
    deadLetters: null,
  };
  const known = { at: AT, kafkaError: null, configHash: "0011aabbccdd", processes: [] };
  const whole = { notes: { awaitingRetry: null, deadLetters: null }, unknown: [] };
  return { ...none, ...known, ...whole, ...over };
}

const snapshot = (over: Partial<StatusReport>) => snapshotOf(report(over), config(SMALL));

test("ages become instants to the second, so that one that stays reads the same each time", () => {
  const stage = { stage: "route", lag: 3, oldestMs: 1_800, note: null, halted: [] };
  const first = snapshot({ stages: [stage] as unknown as StatusReport["stages"] });
  expect(first.stages).toEqual([
    { stage: "route", waiting: 3, oldestAt: "2026-03-01T08:59:59.000Z", note: null },
  ]);
  const later = { ...stage, oldestMs: 3_300 };
  const second = snapshot({
    at: "2026-03-01T09:00:02.000Z",
    stages: [later] as unknown as StatusReport["stages"],
  });
  expect(second.stages[0]?.oldestAt).toBe(first.stages[0]?.oldestAt);
});

test("a delay topic has the time of its next retry, past or not, or none if that is unknown", () => {
  const delay = { delay: "10s", waiting: 4, retired: false, oldestMs: null, note: null };
  const delayTopics = [5_000, -5_000, null].map((dueInMs) => ({ ...delay, dueInMs }));
  expect(snapshot({ delayTopics }).delayTopics.map(({ dueAt }) => dueAt)).toEqual([
    "2026-03-01T09:00:05.500Z",
    "2026-03-01T08:59:55.500Z",
    null,
  ]);
});

test("a destination has its name and kind of the configuration; one that is not there has none", () => {
  const destinations = ["hook", "gone"].map((destination) => destinationReport({ destination }));
  const found = snapshot({ destinations }).destinations;
  expect(found.map(({ id, name, kind }) => [id, name, kind])).toEqual([
    ["hook", "Webhooks", "webhook"],
    ["gone", "", "unknown"],
  ]);
});

test("of a process the partitions are counted; one that cannot be reached has none", () => {
  const stages = [{ name: "route", partitions: { calls: [0, 1], other: [2] } }];
  const reached = processReport({
    stages: stages as never,
    unreachableBrokers: [{ broker: "b:1", since: "2026-03-01T08:00:00.000Z" }],
  });
  const unreachable = processReport({ admin: "b:9464", error: "no response", stages: null });
  const found = snapshot({ processes: [reached, unreachable] }).processes;
  expect(
    found.map(({ stages: all, error, unreachableBrokers }) => [all, error, unreachableBrokers]),
  ).toEqual([
    [[{ name: "route", partitions: 3 }], null, ["b:1"]],
    [null, "no response", []],
  ]);
});

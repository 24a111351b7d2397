// The response of a process to `GET /status`.

import { expect, test } from "vitest";

import { processStatus } from "../../../../src/program/run/process-status.ts";
import type { RunningStage } from "../../../../src/router/stage/running-stage.ts";

const route: RunningStage = {
  name: "route",
  joined: Promise.resolve(),
  healthProblems: () => [],
  partitions: () => [
    { topic: "calls", partition: 4 },
    { topic: "calls", partition: 1 },
  ],
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
const FACTS = {
  version: "1.2.3",
  startedAtMs: Date.UTC(2026, 2, 1, 9),
  stages: ["route", "deliver"],
  hash: "0011aabbccdd",
  configuration: null,
  running: [],
  brokers: [],
} as const;

test("before its stages have started it says what is known", () => {
  expect(processStatus(FACTS)).toEqual({
    version: "1.2.3",
    node: process.version,
    startedAt: "2026-03-01T09:00:00.000Z",
    stages: [
      { name: "route", partitions: {} },
      { name: "deliver", partitions: {} },
    ],
    configuration: { hash: "0011aabbccdd", appliedAt: null },
    unreachableBrokers: [],
    destinations: [],
  });
});

test("then the configuration of now, owned partitions, and brokers that are away", () => {
  const sinceMs = Date.UTC(2026, 2, 1, 10);
  const status = processStatus({
    ...FACTS,
    configuration: { hash: "ffffffffffff", appliedAtMs: sinceMs },
    running: [route],
    brokers: [
      { broker: "k:1", outage: null },
      { broker: "k:2", outage: { sinceMs, error: "no response" } },
    ],
  });
  expect(status).toMatchObject({
    stages: [
      { name: "route", partitions: { calls: [1, 4] } },
      { name: "deliver", partitions: {} },
    ],
    configuration: { hash: "ffffffffffff", appliedAt: "2026-03-01T10:00:00.000Z" },
    unreachableBrokers: [
      { broker: "k:2", since: "2026-03-01T10:00:00.000Z", error: "no response" },
    ],
  });
});

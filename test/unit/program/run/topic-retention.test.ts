// The retention of topics as gauges: a test for each row of the file's table.

import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { STAGE_NAMES, type StageName } from "../../../../src/domain/stages.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import type { TopicState } from "../../../../src/kafka/port.ts";
import { retentions, watchRetention } from "../../../../src/program/run/topic-retention.ts";
import { topicPlan } from "../../../../src/router/topics/topic-plan.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const DAY_S = 86_400;
const crm = "crm" as DestinationId;
const topics = topicNames("p.");
const plan = topicPlan({
  topics,
  destinations: [crm],
  webhooks: [crm],
  strict: [],
  retryDelaysMs: [10_000, 3_600_000],
  retryWindowMs: 14_400_000,
  partitions: 3,
  replicationFactor: null,
  attemptsRetentionMs: 259_200_000,
  hasOperatorEvents: true,
  hasLedger: true,
});
const inputs = { plan, topics };

function topic(name: string, retentionMs: string): TopicState {
  return { name, partitions: 3, replicationFactor: 1, config: { "retention.ms": retentionMs } };
}

function days(stages: readonly StageName[], described: readonly TopicState[]) {
  const found = retentions(inputs, stages, described).map(
    ({ stage, destination, retentionMs }) =>
      [`${stage} ${destination}`.trim(), retentionMs / 1_000 / DAY_S] as const,
  );
  return Object.fromEntries(found);
}

test("where settings cannot be seen, it is as planned, for each consumer of the process", () => {
  expect(days(STAGE_NAMES, [])).toEqual({
    route: 7,
    audience: 7,
    deletion: 7,
    "deliver crm": 7,
    delay: 1 / 3,
  });
  expect(days(["deliver"], [])).toEqual({ "deliver crm": 7 });
});

test("settings that can be seen count, and of several topics the shortest", () => {
  const described = [topic("p.retries.crm", `${2 * DAY_S * 1_000}`), topic("p.calls", "3600000")];
  expect(days(["route", "deliver"], described)).toEqual({ route: 1 / 24, "deliver crm": 2 });
});

test("a topic that keeps forever bounds nothing", () => {
  const forEver = [topic("p.deliveries.crm", "-1"), topic("p.calls", "-1")];
  expect(days(["route", "deliver"], forEver)).toEqual({
    route: Number.POSITIVE_INFINITY,
    "deliver crm": 7,
  });
});

test("it is looked up again, and a refusal leaves the plan", async () => {
  const metrics = createMetrics();
  const clock = new ManualClock();
  const responses = [
    () => Promise.reject(new Error("TOPIC_AUTHORIZATION_FAILED")),
    () => Promise.resolve([topic("p.calls", "3600000")]),
    () => Promise.resolve([topic("p.calls", "-1")]),
  ];
  const asked: (readonly string[])[] = [];
  const describe = (names: readonly string[]) => {
    asked.push(names);
    return responses.shift()?.() ?? Promise.resolve([]);
  };
  using _watch = watchRetention({ metrics, admin: { describe }, clock }, ["route"], () => inputs);
  const shown = async () => {
    const line = /^switchyard_topic_retention_seconds\{.*\} (.+)$/m.exec(await metrics.text());
    return line?.[1] ?? null;
  };
  await expect.poll(shown).toBe(`${7 * DAY_S}`);
  await clock.advance(600_000);
  await expect.poll(shown).toBe("3600");
  await clock.advance(600_000);
  await expect.poll(shown).toBeNull();
  expect(asked).toEqual([["p.calls"], ["p.calls"], ["p.calls"]]);
});

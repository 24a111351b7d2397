// The route stage on a Kafka in memory while a destination's topic is missing.

import { expect, test } from "vitest";
import type { DestinationId, SourceId } from "../../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../../src/domain/topics.ts";
import type { TopicSpec } from "../../../../src/kafka/port.ts";
import { startRoute } from "../../../../src/router/route/stage.ts";
import { createRerouting } from "../../../../src/router/stage/reroute.ts";
import { topicKeeper } from "../../../../src/router/stage/topic-keeper.ts";
import { aSource, aTopicDestination, headerTexts } from "../../../support/build/calls.ts";
import { RouteWorld, trackCall } from "../../../support/worlds/route-world.ts";
import { stageProcess } from "../../../support/worlds/stage-process.ts";

const GONE = "gone" as DestinationId;
const HERE = "d0" as DestinationId;
const RETRY_DELAYS_MS = [10_000, 30_000];
const topics = topicNames("sw.");

/** @param isMade whether the topic is recreated when it is missing, but never in time. */
async function routing(isMade: boolean) {
  const world = new RouteWorld();
  world.cluster.createTopic(topics.delays(10_000), 1);
  const { deps, failures, metrics, kafka, lines } = stageProcess(world.cluster, world.clock);
  const producer = kafka.producer();
  const { clock, log } = deps;
  const keeper = topicKeeper({ admin: kafka.admin, clock, log }, [] satisfies TopicSpec[]);
  const rules = { topics, retryDelaysMs: RETRY_DELAYS_MS, isMade: () => isMade };
  const rerouting = createRerouting({ producer, metrics, clock }, rules);
  const stage = await startRoute(
    { ...deps, producer, rerouting, keeper },
    {
      topics,
      groups: groupNames("sw."),
      sources: [aSource("web", [HERE, GONE])],
      defaultSource: "web" as SourceId,
      destinations: [aTopicDestination(HERE), aTopicDestination(GONE)],
      maxBytes: 32_000_000,
      drainLimitMs: 10_000,
    },
  );
  return { world, stage, failures, metrics, rerouting, lines };
}

test("its copies go around, others are not held up, and it is reported since when and how many", async () => {
  const { world, failures, metrics, rerouting } = await routing(true);
  world.append(trackCall(0));
  await world.clock.advance(10_000);
  expect(world.deliveries(HERE)).toHaveLength(1);
  const [first] = world.cluster.records(topics.delays(10_000));
  expect(first && headerTexts(first)).toMatchObject({
    "switchyard-destination": GONE,
    "switchyard-message-id": "m0",
    "switchyard-reroute-count": "1",
  });
  world.appendCalls(1_000, 1);
  await world.until(() => world.cluster.records(topics.delays(10_000)).length === 1_001);
  expect(world.deliveries(HERE)).toHaveLength(1_001);
  await world.clock.advance(5_000);
  expect(await world.committed()).toBe(1_001);
  expect(rerouting.healthProblems()).toEqual([
    expect.stringMatching(
      /^brokers have rejected writes to sw\.deliveries\.gone since .*; 1001 deliveries/,
    ),
  ]);
  const text = await metrics.text();
  const labels = 'stage="route",destination="gone"';
  expect(text).toContain(`switchyard_deliveries_rerouted_total{${labels}} 1001`);
  const sinceOf = 'topic="sw.deliveries.gone",destination="gone"';
  expect(text).toMatch(
    new RegExp(`switchyard_topic_not_writable_since_timestamp_seconds\\{${sinceOf}\\} [1-9]`),
  );
  expect(failures).toEqual([]);
});

test("it is written when it is there again, and the gauge is 0", async () => {
  const { world, metrics, rerouting } = await routing(true);
  world.append(trackCall(0));
  await world.clock.advance(10_000);
  world.cluster.createTopic(topics.deliveries(GONE), 1);
  world.append(trackCall(1));
  await world.clock.advance(5_000);
  expect(world.deliveries(GONE)).toHaveLength(1);
  expect(rerouting.healthProblems()).toEqual([]);
  expect(await metrics.text()).not.toMatch(
    /switchyard_topic_not_writable_since_timestamp_seconds\{[^}]*\} [1-9]/,
  );
});

test("where nobody makes it again its copies are dead letters, each a delivery of that destination", async () => {
  const { world } = await routing(false);
  world.appendCalls(2);
  await world.clock.advance(10_000);
  expect(world.deliveries(HERE)).toHaveLength(2);
  expect(world.deadLetters().map((deadLetter) => headerTexts(deadLetter))).toMatchObject([
    {
      "switchyard-destination": GONE,
      "switchyard-message-id": "m0",
      "switchyard-reason": "unknown-destination",
      "switchyard-stage": "route",
      "switchyard-error": "the topic sw.deliveries.gone does not exist",
      "switchyard-topic": topics.calls,
      "switchyard-offset": "0",
    },
    { "switchyard-message-id": "m1" },
  ]);
});

test("a destination that is configured no longer is shown no longer", async () => {
  const { world, metrics, rerouting } = await routing(true);
  world.append(trackCall(0));
  await world.clock.advance(10_000);
  const name = "switchyard_topic_not_writable_since_timestamp_seconds";
  expect(await metrics.text()).toMatch(new RegExp(`^${name}{.*destination="gone"} [1-9]`, "m"));
  world.cluster.createTopic(topics.deliveries(GONE), 1);
  for (let number = 1; number < 9; number += 1) {
    world.append(trackCall(number));
    await world.clock.advance(3_000);
  }
  expect(await metrics.text()).toMatch(new RegExp(`^${name}{.*destination="gone"} 0$`, "m"));
  rerouting.forget(new Set([GONE]));
  expect(await metrics.text()).not.toMatch(new RegExp(`^${name}{`, "m"));
});

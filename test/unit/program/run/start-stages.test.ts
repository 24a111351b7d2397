// The inputs that stages are started with, on a Kafka in memory.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { STAGE_CODE, startStages } from "../../../../src/program/run/start-stages.ts";
import { config } from "../../../support/build/config-source.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";
import { stageProcess } from "../../../support/worlds/stage-process.ts";

const HOOK = "hook" as DestinationId;
const DELIVERIES = "switchyard.deliveries.hook";
const DELAY_TOPICS = ["switchyard.delays.10s", "switchyard.delays.5m"];

function yaml(isEnabled: boolean): string {
  return `
kafka: { brokers: [kafka-1:9092] }
sources:
  - { id: web, writeKey: k1, destinations: [hook] }
destinations:
  - { id: hook, type: webhook, enabled: ${isEnabled}, endpoints: [{ url: "https://a.example.com/" }] }
delivery: { retryDelays: [10s, 5m] }
`;
}

/**
 * Each topic contains one record that has been due for a long time. Returns the topics from which the delay stage
 * returns the record.
 */
async function returned(names: readonly string[], isEnabled = true): Promise<readonly string[]> {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(7) });
  for (const topic of new Set([...names, ...DELAY_TOPICS, DELIVERIES]))
    cluster.createTopic(topic, 1);
  const headers = deliveryHeaders(deliveryOf({ destination: HOOK, dueAtMs: 1 }));
  for (const topic of names) {
    cluster.append({ topic, key: null, value: Buffer.from(topic), headers });
  }
  const { deps, failures } = stageProcess(cluster, clock);
  // Code is loaded in real time.
  await STAGE_CODE.delay();
  const stages = startStages(["delay"], deps, config(yaml(isEnabled)));
  const started = stages.next();
  await clock.advance(1_000);
  const { value: stage } = await started;
  await clock.advance(10_000);
  const stopped = stage?.[Symbol.asyncDispose]();
  await clock.advance(20_000);
  await stopped;
  expect(failures).toEqual([]);
  return cluster.records(DELIVERIES).map(({ value }) => `${value}`);
}

test("delay returns what waits in its retry delays, and in those that are not configured any more", async () => {
  const all = [...DELAY_TOPICS, "switchyard.delays.2m", "switchyard.delays.1500ms"];
  const others = ["switchyard.delays.soon", "other.delays.30s"];
  expect((await returned([...all, ...others])).toSorted()).toEqual(all.toSorted());
});

test("delay returns what waits for a disabled destination: deliver schedules its retry again", async () => {
  expect(await returned(DELAY_TOPICS, false)).toHaveLength(2);
});

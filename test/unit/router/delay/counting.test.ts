// The gauges of records that wait in delay topics, in a stage that has few of these records in flight.

import { describe, expect, test } from "vitest";

import type { DestinationId } from "../../../../src/domain/ids.ts";
import { listsOf } from "../../../support/build/lists.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import {
  BILLING,
  COUNTED_MS,
  CountingWorld,
  CRM,
  topicOf,
  topics,
  WINDOW_MS,
} from "../../../support/worlds/counting-world.ts";

const MINUTE_MS = 60_000;
const KNOWN = { "10m": 0, "60m": 0 };
const ALL = { "crm/10m": 300, "billing/10m": 40, "crm/60m": 20 };

/** Writes deliveries of two destinations with two delays. Most of them are not in flight. */
function retryAll(world: CountingWorld): void {
  world.scheduleRetry(CRM, "10m", 300);
  world.scheduleRetry(BILLING, "10m", 40);
  world.scheduleRetry(CRM, "60m", 20);
}

test("deliveries that wait are reported by destination and retry delay, each read ahead at most once", async () => {
  const world = new CountingWorld();
  retryAll(world);
  const read: string[] = [];
  const process = await world.start({
    kafka: {
      async *read(range) {
        for await (const records of process.kafka.read(range)) {
          read.push(
            ...records.map(({ topic, partition, offset }) => `${topic} ${partition} ${offset}`),
          );
          yield records;
        }
      },
    },
  });
  await world.clock.advance(COUNTED_MS);
  expect(await process.waiting()).toEqual(ALL);
  expect(await process.unknown()).toEqual(KNOWN);
  expect(read.length).toBeGreaterThan(200);
  expect(new Set(read).size).toBe(read.length);
  expect(process.failures).toEqual([]);
});

test("of deliveries that are all in flight nothing is read ahead", async () => {
  const world = new CountingWorld();
  retryAll(world);
  const read = () => {
    throw new Error("nothing is to be read");
  };
  const { waiting, stage } = await world.start({
    config: { maxBytes: 1_000_000 },
    kafka: { read },
  });
  await world.clock.advance(COUNTED_MS);
  expect(await waiting()).toEqual(ALL);
  expect(stage.healthProblems()).toEqual([]);
});

test("their times are those of the oldest, the next and the first window", async () => {
  const world = new CountingWorld();
  const beganAtMs = world.clock.nowMs();
  world.scheduleRetry(CRM, "60m", 200);
  await world.clock.advance(MINUTE_MS);
  world.scheduleRetry(CRM, "10m", 200, { firstAttemptAtMs: beganAtMs - 9 * MINUTE_MS });
  world.scheduleRetry(BILLING, "10m", 5, { firstAttemptAtMs: null, attempt: 0 });
  const { time } = await world.start();
  await world.clock.advance(COUNTED_MS);
  expect(await time("awaiting_retry_oldest", CRM)).toBe(beganAtMs);
  expect(await time("next_retry", CRM)).toBe(beganAtMs + 11 * MINUTE_MS);
  expect(await time("next_expiry", CRM)).toBe(beganAtMs - 9 * MINUTE_MS + WINDOW_MS);
  expect(await time("awaiting_retry_oldest", BILLING)).toBe(beganAtMs + MINUTE_MS);
  // It was never attempted, so it has no retry window.
  expect(await time("next_expiry", BILLING)).toBeNaN();
});

test("what has gone back waits no more", async () => {
  const world = new CountingWorld();
  retryAll(world);
  world.scheduleRetry("gone", "10m", 3);
  const { waiting, time } = await world.start();
  await world.clock.advance(COUNTED_MS);
  expect(await waiting()).toEqual({ ...ALL, "gone/10m": 3 });
  await world.clock.advance(11 * MINUTE_MS);
  expect(world.cluster.records(topics.retries(CRM))).toHaveLength(300);
  // Zero for configured destinations; an unknown name is dropped.
  expect(await waiting()).toEqual({ "crm/10m": 0, "billing/10m": 0, "crm/60m": 20 });
  expect(await time("next_retry", BILLING)).toBeNaN();
  expect(await time("next_retry", CRM)).toBeGreaterThan(world.clock.nowMs());
});

test("records that come while others wait are counted, too", async () => {
  const world = new CountingWorld();
  retryAll(world);
  const { waiting } = await world.start();
  await world.clock.advance(COUNTED_MS);
  world.scheduleRetry(BILLING, "10m", 70);
  await world.clock.advance(COUNTED_MS);
  expect(await waiting()).toEqual({ ...ALL, "billing/10m": 110 });
});

describe("processes", () => {
  test("one that stops shows nothing more; the next one counts the same", async () => {
    const world = new CountingWorld();
    retryAll(world);
    const first = await world.start();
    await world.clock.advance(COUNTED_MS);
    await first.stop();
    expect(await first.text()).not.toMatch(/^switchyard_deliveries_(awaiting|next)/m);
    const second = await world.start();
    await world.clock.advance(COUNTED_MS);
    expect(await second.waiting()).toEqual(ALL);
  });

  test("two count each partition once", async () => {
    const world = new CountingWorld(4);
    retryAll(world);
    const first = await world.start();
    await world.clock.advance(COUNTED_MS);
    const second = await world.start();
    await world.clock.advance(COUNTED_MS);
    const [one, other] = [await first.waiting(), await second.waiting()];
    for (const [labels, count] of Object.entries(ALL)) {
      expect((one[labels] ?? 0) + (other[labels] ?? 0)).toBe(count);
    }
    expect(one["crm/10m"]).toBeGreaterThan(0);
    expect(other["crm/10m"]).toBeGreaterThan(0);
    second.kafka.kill();
    await world.clock.advance(2 * COUNTED_MS);
    expect(await first.waiting()).toEqual(ALL);
  });
});

describe("what is not known is not reported", () => {
  test("before the partitions were looked at, and with each of them counted", async () => {
    const world = new CountingWorld();
    retryAll(world);
    const { waiting, unknown, time } = await world.start();
    // The group's coordinator has not responded yet.
    expect(await unknown()).toEqual({ "10m": 1, "60m": 1 });
    await world.clock.advance(1_000);
    expect(await unknown()).toEqual({ "10m": 2, "60m": 2 });
    expect(await waiting()).toEqual({});
    // The times of the records in flight are already correct.
    expect(await time("next_retry", CRM)).toBe(world.clock.nowMs() - 1_000 + 10 * MINUTE_MS);
  });

  test("while Kafka is unreachable; it is never 0", async () => {
    const world = new CountingWorld();
    retryAll(world);
    const { waiting, unknown } = await world.start();
    await world.clock.advance(COUNTED_MS);
    world.cluster.goDown();
    const seen: unknown[] = [];
    for (let second = 0; second < 60; second += 1) {
      await world.clock.advance(1_000);
      seen.push(...Object.entries(await waiting()).map(([labels, count]) => `${labels} ${count}`));
    }
    expect(new Set(seen)).toEqual(
      new Set(Object.entries(ALL).map(([labels, count]) => `${labels} ${count}`)),
    );
    expect(await waiting()).toEqual({});
    expect((await unknown())["10m"]).toBeGreaterThan(0);
    world.cluster.comeUp();
    await world.clock.advance(2 * COUNTED_MS);
    expect(await waiting()).toEqual(ALL);
    expect(await unknown()).toEqual(KNOWN);
  });

  test("while a partition cannot be read ahead: /readyz says why, and the other retry delay is reported", async () => {
    const world = new CountingWorld(1);
    retryAll(world);
    let isBroken = true;
    const process = await world.start({
      kafka: {
        read: (range) => {
          if (isBroken && range.topic === topicOf("10m")) throw new Error("the batch is corrupt");
          return process.kafka.read(range);
        },
      },
    });
    await world.clock.advance(COUNTED_MS);
    expect(await process.waiting()).toEqual({ "crm/60m": 20 });
    expect(await process.unknown()).toEqual({ "10m": 1, "60m": 0 });
    expect(process.stage.healthProblems()).toEqual([
      "the count of partition 0 of sw.delays.10m is unknown: the batch is corrupt",
    ]);
    isBroken = false;
    await world.clock.advance(COUNTED_MS);
    expect(await process.waiting()).toEqual(ALL);
    expect(process.stage.healthProblems()).toEqual([]);
  });

  test("while an open transaction hides records: another partition is not kept waiting", async () => {
    const world = new CountingWorld(2);
    retryAll(world);
    const process = await world.start({
      kafka: {
        read: (range) => {
          if (range.topic !== topicOf("10m") || range.partition !== 0) {
            return process.kafka.read(range);
          }
          return (async function* () {
            await world.clock.sleep(10_000_000, range.signal).catch(() => undefined);
          })();
        },
      },
    });
    await world.clock.advance(COUNTED_MS);
    expect(await process.unknown()).toEqual({ "10m": 1, "60m": 0 });
    expect(process.stage.healthProblems()).toEqual([
      "the count of partition 0 of sw.delays.10m is unknown: no response within 10 s",
    ]);
  });
});

describe("names", () => {
  test("a flood of names that are not configured is reported as the rest, and the others by name", async () => {
    const world = new CountingWorld();
    retryAll(world);
    for (let number = 0; number < 500; number += 1) world.scheduleRetry(`flood-${number}`, "10m");
    world.scheduleRetry('x"} 1', "10m");
    const { waiting } = await world.start();
    await world.clock.advance(COUNTED_MS);
    const counts = await waiting();
    expect(counts).toMatchObject({ ...ALL, "/10m": 401 });
    expect(Object.keys(counts)).toHaveLength(104);
  });

  test("those with the most are named where not all are to be", async () => {
    const world = new CountingWorld();
    retryAll(world);
    const { waiting } = await world.start({ config: { shownMax: 1 } });
    await world.clock.advance(COUNTED_MS);
    expect(await waiting()).toEqual({ "crm/10m": 300, "/10m": 40, "crm/60m": 20 });
  });

  test("those that are not named any more are not said to have nothing, and keep their labels", async () => {
    const world = new CountingWorld();
    retryAll(world);
    for (let number = 0; number < 99; number += 1) world.scheduleRetry(`other-${number}`, "60m");
    const { waiting } = await world.start({ config: { shownMax: 1 } });
    await world.clock.advance(COUNTED_MS);
    expect(await waiting()).toMatchObject({ "crm/10m": 300 });
    world.scheduleRetry(BILLING, "60m", 400);
    for (let number = 0; number < 50; number += 1) world.scheduleRetry(`later-${number}`, "60m");
    await world.clock.advance(COUNTED_MS);
    expect(await waiting()).toEqual({
      "billing/10m": 40,
      "/10m": 300,
      "billing/60m": 400,
      "/60m": 20 + 99 + 50,
    });
  });

  test("a destination that is taken out of the configuration is reported until nothing of it waits", async () => {
    const world = new CountingWorld();
    retryAll(world);
    const { stage, waiting } = await world.start();
    await world.clock.advance(COUNTED_MS);
    stage.update?.(listsOf({ destinations: [webhookDestination({ id: CRM })] }));
    expect(await waiting()).toEqual(ALL);
    await world.clock.advance(11 * MINUTE_MS);
    expect(await waiting()).toEqual({ "crm/10m": 0, "crm/60m": 20 });
  });
});

test("a topic that is deleted is not known until it is there again, empty", async () => {
  const world = new CountingWorld();
  retryAll(world);
  const untilThere = async () => {
    world.cluster.createTopic(topicOf("10m"), 2);
    return true;
  };
  const keeper = {
    untilThere,
    missing: () => undefined,
    isMade: () => true,
    update: () => undefined,
  };
  const { kafka, waiting } = await world.start({ deps: { keeper } });
  await world.clock.advance(COUNTED_MS);
  await Promise.all([kafka.admin.deleteTopics([topicOf("10m")]), world.clock.advance(COUNTED_MS)]);
  expect(await waiting()).toEqual({ "crm/60m": 20 });
  world.scheduleRetry("later" as DestinationId, "10m", 2);
  await world.clock.advance(COUNTED_MS);
  expect(await waiting()).toEqual({ "crm/60m": 20, "later/10m": 2 });
});

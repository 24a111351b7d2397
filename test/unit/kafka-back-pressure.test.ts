// When fetched records are handed over, and what a fetch loop does that stands still.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackPressure } from "../../src/kafka/back-pressure.ts";
import { ByteBudget } from "../../src/kafka/byte-budget.ts";
import type { ConsumerGroup, FetchedBatch } from "../../src/kafka/consumer-group.ts";
import { OwnedPartition } from "../../src/kafka/owned-partition.ts";
import { Signal } from "../../src/kafka/signal.ts";

const HEARTBEAT_MS = 2_500;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A partition of which at most 16 records are in hand, and 20 that were fetched. */
function standingStill() {
  const taken: number[] = [];
  const partition = new OwnedPartition({
    topic: "t",
    partition: 0,
    recordsMax: 16,
    budget: new ByteBudget(1_000_000, null),
    handler: {
      take: (records) => {
        taken.push(...records.map(({ offset }) => offset));
      },
      drain: () => Promise.resolve(),
    },
  });
  partition.committedAt({ topic: "t", partition: 0, topicId: "id", offset: 0, metadata: "" });
  const messages = Array.from({ length: 20 }, (_, offset) => ({
    offset: `${offset}`,
    timestamp: "0",
    key: null,
    value: Buffer.from("v"),
  }));
  const fetched = { fetchedOffset: "0", highWatermark: "20", lastOffset: () => "19" };
  const batch = { topic: "t", partition: 0, messages, rawMessages: messages, ...fetched };
  partition.offer(batch as unknown as FetchedBatch, null);
  const heartbeats: number[] = [];
  const group = {
    lastRequest: Date.now(),
    maxWaitTime: 0,
    paused: () => [],
    resume: () => undefined,
    heartbeat: () => {
      heartbeats.push(Date.now());
      group.lastRequest = Date.now();
      return Promise.resolve();
    },
  };
  const wake = new Signal();
  const options = { whenFull: "hold", pollMs: 5_000, heartbeatMs: HEARTBEAT_MS, wake } as const;
  const backPressure = new BackPressure(options);
  backPressure.own(group as unknown as ConsumerGroup, [partition]);
  backPressure.handOver();
  const finish = async (offset: number) => {
    partition.finish(offset);
    backPressure.finished();
    await vi.advanceTimersByTimeAsync(1);
  };
  const room = backPressure.room(group as unknown as ConsumerGroup);
  return { taken, heartbeats, finish, room };
}

test("records are handed over when an eighth of what is allowed is free", async () => {
  const { taken, finish, room } = standingStill();
  expect(taken).toHaveLength(16);
  await finish(3);
  expect(taken).toHaveLength(16);
  await finish(5);
  expect(taken).toHaveLength(18);
  await finish(0);
  await finish(1);
  expect(taken).toEqual([...Array(20).keys()]);
  await room;
});

test("a fetch loop that stands still heartbeats when that is due, and sleeps until then", async () => {
  const { heartbeats, finish, room } = standingStill();
  const startMs = Date.now();
  const timers = vi.getTimerCount();
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS - 1);
  expect(heartbeats).toEqual([]);
  expect(vi.getTimerCount()).toBe(timers);
  await vi.advanceTimersByTimeAsync(2 * HEARTBEAT_MS);
  expect(heartbeats.map((atMs) => atMs - startMs)).toEqual([HEARTBEAT_MS, 2 * HEARTBEAT_MS]);
  for (const offset of [0, 1, 2, 3]) await finish(offset);
  await room;
});

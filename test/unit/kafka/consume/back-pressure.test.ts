// When fetched records are handed over, and what a fetch loop does that stands still.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackPressure } from "../../../../src/kafka/consume/back-pressure.ts";
import { ByteBudget } from "../../../../src/kafka/consume/byte-budget.ts";
import { OwnedPartition } from "../../../../src/kafka/consume/owned-partition.ts";
import type { IsWanted, Member } from "../../../../src/kafka/membership.ts";
import { Signal } from "../../../../src/runtime/signal.ts";
import { fetchedBatch } from "../../../support/kafkajs/fetched-batch.ts";

const HEARTBEAT_MS = 2_500;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A partition of which at most 16 records are in hand, and 20 that were fetched. */
function standingStill(passing: readonly OwnedPartition[] = []) {
  const taken: number[] = [];
  const partition = new OwnedPartition({
    topic: "t",
    partition: 0,
    recordsMax: 16,
    passes: false,
    budget: new ByteBudget(1_000_000, null),
    handler: {
      take: (records) => {
        taken.push(...records.map(({ offset }) => offset));
      },
      drain: () => Promise.resolve(),
    },
  });
  partition.committedAt({ topic: "t", partition: 0, topicId: "id", offset: 0, metadata: "" });
  partition.offer(fetchedBatch([...Array(20).keys()], { from: 0, end: 20, last: 19 }), null);
  const heartbeats: number[] = [];
  const member = {
    heardAtMs: Date.now(),
    pollMs: 0,
    pause: () => undefined,
    resume: () => undefined,
    resumeAll: () => undefined,
    // The passing topic is led by broker 1.
    readsFrom: (nodeId: string, isWanted: IsWanted) => nodeId === "1" && isWanted("p", 0),
    heartbeat: () => {
      heartbeats.push(Date.now());
      member.heardAtMs = Date.now();
      return Promise.resolve();
    },
  };
  const wake = new Signal();
  const options = { whenFull: "hold", pollMs: 5_000, heartbeatMs: HEARTBEAT_MS, wake } as const;
  const backPressure = new BackPressure(options);
  const asMember = member as unknown as Member;
  backPressure.own(asMember, [partition, ...passing]);
  backPressure.handOver();
  const finish = async (offset: number) => {
    partition.finish(offset);
    backPressure.finished();
    await vi.advanceTimersByTimeAsync(1);
  };
  const roomOf = (nodeId: string) => backPressure.room(asMember, nodeId);
  return { taken, heartbeats, finish, roomOf, room: roomOf("1") };
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

/** Of a topic that passes the others. */
function passingPartition() {
  return new OwnedPartition({
    topic: "p",
    partition: 0,
    recordsMax: 16,
    passes: true,
    budget: new ByteBudget(1_000_000, null),
    handler: { take: () => undefined, drain: () => Promise.resolve() },
  });
}

test("passing topics are looked at while the others stand still, and the broker may wait for a record", async () => {
  const { room, roomOf } = standingStill([passingPartition()]);
  expect(await room).toMatchObject({ kind: "passing" });
  const next = roomOf("1");
  const startMs = Date.now();
  await vi.advanceTimersByTimeAsync(250);
  expect(await next).toEqual({ kind: "passing", maxWaitMs: 1_000 });
  expect(Date.now() - startMs).toBe(250);
});

test("while the others move the broker does not wait: they may go on any moment", async () => {
  const { room, roomOf, finish } = standingStill([passingPartition()]);
  await room;
  await finish(3);
  const next = roomOf("1");
  await vi.advanceTimersByTimeAsync(250);
  expect(await next).toEqual({ kind: "passing", maxWaitMs: 0 });
});

test("a broker that leads no passing topic is not looked at, and its loop goes on with the others", async () => {
  const { roomOf, finish } = standingStill([passingPartition()]);
  const other = roomOf("2");
  await vi.advanceTimersByTimeAsync(10 * HEARTBEAT_MS);
  for (const offset of [0, 1, 2, 3]) await finish(offset);
  expect(await other).toEqual({ kind: "all" });
});

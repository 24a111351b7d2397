// When fetched records are handed over, and what a fetch loop does that stands still.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackPressure, type Room } from "../../../../src/kafka/consume/back-pressure.ts";
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
  expect(await room).toMatchObject({ kind: "some" });
  const next = roomOf("1");
  const startMs = Date.now();
  await vi.advanceTimersByTimeAsync(250);
  expect(await next).toMatchObject({ kind: "some", maxWaitMs: 1_000 });
  expect(Date.now() - startMs).toBe(250);
});

test("while the others move the broker does not wait: they may continue any moment", async () => {
  const { room, roomOf, finish } = standingStill([passingPartition()]);
  await room;
  await finish(3);
  const next = roomOf("1");
  await vi.advanceTimersByTimeAsync(250);
  expect(await next).toMatchObject({ kind: "some", maxWaitMs: 0 });
});

test("a broker that leads no passing topic is not looked at, and its loop continues with the others", async () => {
  const { roomOf, finish } = standingStill([passingPartition()]);
  const other = roomOf("2");
  await vi.advanceTimersByTimeAsync(10 * HEARTBEAT_MS);
  for (const offset of [0, 1, 2, 3]) await finish(offset);
  expect(await other).toEqual({ kind: "all" });
});

/** Two partitions of 20 records each; the first one's wait from `waitsFrom` on. */
function waiting(waitsFrom: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let mayCome = false;
  const taken: string[] = [];
  const paused: string[] = [];
  const wake = new Signal();
  const backPressure = new BackPressure({
    ...{ whenFull: "hold", pollMs: 5_000, heartbeatMs: HEARTBEAT_MS, wake },
  } as const);
  const budget = new ByteBudget(1_500, null);
  const owned = [0, 1].map((partition) => {
    const made = new OwnedPartition({
      topic: "t",
      partition,
      recordsMax: 100,
      passes: false,
      budget,
      onAdmits: () => backPressure.admits(),
      handler: {
        admit: (record) =>
          partition === 0 && record.offset >= waitsFrom && !mayCome ? promise : record,
        take: (records) => {
          taken.push(...records.map(({ offset }) => `${partition}/${offset}`));
        },
        drain: () => Promise.resolve(),
      },
    });
    made.committedAt({ topic: "t", partition, topicId: "id", offset: 0, metadata: "" });
    return made;
  });
  const member = {
    heardAtMs: Date.now(),
    pollMs: 0,
    pause: (topic: string, partition: number) => void paused.push(`${topic}/${partition}`),
    resume: (topic: string, partition: number) => {
      paused.splice(paused.indexOf(`${topic}/${partition}`), 1);
    },
    resumeAll: () => undefined,
    readsFrom: (_nodeId: string, isWanted: IsWanted) => isWanted("t", 0) || isWanted("t", 1),
    heartbeat: () => Promise.resolve(),
  } as unknown as Member;
  const fetched = fetchedBatch([...Array(20).keys()], { from: 0, end: 20, last: 19 });
  const offer = (partition: number) => owned[partition]?.offer(fetched, null);
  backPressure.own(member, owned);
  const finish = async (partition: number, offset: number) => {
    owned[partition]?.finish(offset);
    backPressure.finished();
    await vi.advanceTimersByTimeAsync(1);
  };
  const admit = async () => {
    mayCome = true;
    resolve();
    await vi.advanceTimersByTimeAsync(1);
  };
  const room = () => backPressure.room(member, "1");
  return { taken, paused, member, budget, backPressure, offer, finish, admit, room };
}

test("a partition that waits is paused alone, and the fetch loop continues", async () => {
  const { taken, paused, member, budget, backPressure, offer, room } = waiting(0);
  offer(0);
  backPressure.handOver();
  expect(await room()).toEqual({ kind: "all" });
  expect({ taken, paused, pollMs: member.pollMs }).toEqual({
    taken: [],
    paused: ["t/0"],
    pollMs: 250,
  });
  expect(budget.inFlight).toBe(0);
});

test("when it may continue it does, and is fetched again when all of it is handed over", async () => {
  const { taken, paused, backPressure, offer, finish, admit, room } = waiting(0);
  offer(0);
  offer(1);
  backPressure.handOver();
  // Room for 20 records of 74 bytes: the other partition has all of it.
  expect(taken).toHaveLength(20);
  await admit();
  const standing = room();
  expect(await standing).toMatchObject({ kind: "some" });
  expect({ count: taken.length, paused }).toEqual({ count: 20, paused: ["t/0"] });
  for (let offset = 0; offset < 20; offset += 1) await finish(1, offset);
  expect(await room()).toEqual({ kind: "all" });
  expect({ count: taken.length, paused }).toEqual({ count: 40, paused: [] });
});

test("a partition of which all is handed over is looked at while another holds the loop", async () => {
  const { taken, backPressure, offer, finish, room } = waiting(Number.POSITIVE_INFINITY);
  offer(0);
  backPressure.handOver();
  offer(1);
  backPressure.handOver();
  // Room for 20 records: partition 1 has none of it.
  const { kind, isWanted } = (await room()) as Extract<Room, { kind: "some" }>;
  expect({ kind, wanted: [isWanted("t", 0), isWanted("t", 1)] }).toEqual({
    kind: "some",
    wanted: [true, false],
  });
  // What is given back goes to the partition that has less, although the other one comes first.
  offer(0);
  for (const offset of [0, 1, 2]) await finish(0, offset);
  expect(taken.slice(20)).toEqual(["1/0", "1/1", "1/2"]);
});

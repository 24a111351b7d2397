// What a member owns from the assignment until it is given up, and what comes in while a partition
// moves between leaders; with kafkajs' own group, which keeps where a fetch begins.

import { afterEach, expect, test, vi } from "vitest";
import type { CorruptBatch } from "../../../../src/domain/corrupt-batch.ts";
import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { newMemory, Ownership } from "../../../../src/kafka/consume/ownership.ts";
import { SessionLease } from "../../../../src/kafka/consume/session-lease.ts";
import { batchOf } from "../../../../src/kafka/kafkajs/group-fetches.ts";
import { consumerGroupHooks } from "../../../../src/kafka/kafkajs/group-hooks.ts";
import { PartitionAssigners } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { KafkajsMember } from "../../../../src/kafka/kafkajs/membership.ts";
import { Signal } from "../../../../src/runtime/signal.ts";
import { ended, stepTimers } from "../../../support/clock/stepped-timers.ts";
import { Taker } from "../../../support/contract/taker.ts";
import { GroupWorld, PARTITION, TOPIC } from "../../../support/kafkajs/kafkajs-group.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

interface Given {
  readonly whenFull?: "hold" | "pause";
  readonly taker?: Taker;
  readonly onSkipped?: (batch: CorruptBatch) => void;
}

/** A member that owns one partition and has committed nothing. */
async function world({ whenFull = "hold", taker = new Taker(), onSkipped }: Given = {}) {
  const lines = new LogLines();
  const memory = newMemory();
  /** What has gone by since the member was last heard of. */
  const silence = { ms: 0 };
  const lease = new SessionLease(10_000, () => Date.now() + silence.ms);
  let resets = 0;
  const ownership = new Ownership({
    consume: {
      groupId: "g",
      topics: [TOPIC],
      whenFull,
      partitionRecordsMax: 1_000,
      maxBytes: 1_000_000,
      drainLimitMs: 0,
      onAssigned: taker.onAssigned,
      onCrash: () => undefined,
      ...(onSkipped !== undefined && { onSkipped }),
    },
    times: {
      pollMs: 5_000,
      heartbeatMs: 1_000,
      idleHeartbeatMs: 5_000,
      rebalanceTimeoutMs: 60_000,
    },
    memory,
    lease,
    commits: new CommitPace(),
    wake: new Signal(),
    onOffsetReset: () => {
      resets += 1;
    },
    log: lines.log,
  });
  const kafka = new GroupWorld(
    consumerGroupHooks(PartitionAssigners.roundRobin, {
      beforeJoin: async () => undefined,
      offsetsFetched: (fetched) => ownership.offsetsFetched(fetched),
      joinsAgain: async () => false,
    }),
  );
  const { group } = kafka;
  const member = new KafkajsMember(group);
  const heartbeat = group.heartbeat.bind(group);
  group.heartbeat = (request) => lease.heartbeat(member, () => heartbeat(request));
  const join = async () => {
    lease.start();
    await group.joinAndSync();
    ownership.assign(member, { [TOPIC]: [PARTITION] });
  };
  await join();
  const fetch = async (nodeId: string) => {
    const { answered, outOfRange } = await kafka.fetch(nodeId);
    return {
      answers: async (offsets: readonly number[], end?: number) =>
        ownership.offer(member, (await answered(offsets, end)).map(batchOf)),
      isCorrupt: async (batch: CorruptBatch) => {
        const [fetched] = (await answered([])).map(batchOf);
        const corrupt = { corrupt: batch, last: batch.behind - 1 };
        if (fetched !== undefined) ownership.offer(member, [Object.assign(fetched, corrupt)]);
      },
      isOutOfRange: async () => ownership.offer(member, (await outOfRange()).map(batchOf)),
    };
  };
  const offsets = () => taker.taken.map(({ offset }) => offset);
  const { commits } = kafka.coordinator;
  const isOurs = () => taker.tenures.at(-1)?.assigned.isOurs();
  return {
    kafka,
    member,
    lines,
    taker,
    offsets,
    ownership,
    commits,
    memory,
    silence,
    join,
    fetch,
    isOurs,
    resets: () => resets,
  };
}

function refusal(type: string): Error {
  return Object.assign(new Error(type), { type });
}

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["an empty answer", []],
  ["an answer with records", range(100, 120)],
])("%s that comes late from a former leader changes nothing", async (_name, late) => {
  const { kafka, taker, offsets, ownership, commits, fetch, lines } = await world();
  await (await fetch("1")).answers(range(0, 100));
  const fromFormer = await fetch("1");
  kafka.leader = "2";
  await (await fetch("2")).answers(range(100, 200));
  await fromFormer.answers(late);
  await (await fetch("2")).answers(range(200, 210));
  expect(offsets()).toEqual(range(0, 210));
  for (const taken of taker.taken) {
    if (taken.offset < 100 || taken.offset >= 200) taker.finish(taken);
  }
  await ownership.revoke();
  expect(commits).toEqual([100]);
  expect(lines.seen).toEqual([]);
});

test("a log that was cut off is read again from its beginning, with a new handler", async () => {
  const { taker, offsets, ownership, commits, fetch, lines, resets } = await world();
  await (await fetch("1")).answers(range(0, 100));
  for (const taken of taker.taken.slice(0, 50)) taker.finish(taken);
  await (await fetch("1")).isOutOfRange();
  await (await fetch("1")).answers(range(0, 60), 60);
  expect(taker.tenures).toHaveLength(2);
  expect(offsets().slice(100)).toEqual(range(0, 60));
  for (const offset of range(0, 100)) taker.tenures[0]?.assigned.finish(offset);
  taker.tenures[1]?.assigned.finish(0);
  await ownership.revoke();
  expect(commits).toEqual([-2, 1]);
  expect([lines.seen, resets()]).toEqual([
    ["kafka.offset.out-of-range", "kafka.partition.truncated"],
    1,
  ]);
});

test("a response from before a reset passes nothing that is read after it", async () => {
  const { kafka, taker, offsets, ownership, commits, fetch } = await world();
  await (await fetch("1")).answers(range(0, 100));
  const fromFormer = await fetch("1");
  kafka.leader = "2";
  await (await fetch("2")).isOutOfRange();
  await (await fetch("2")).answers(range(0, 20), 60);
  await fromFormer.answers(range(100, 200));
  await (await fetch("2")).answers(range(20, 60), 60);
  expect(offsets().slice(100)).toEqual(range(0, 60));
  for (const taken of taker.taken) taker.finish(taken);
  await ownership.revoke();
  expect(commits).toEqual([-2, 60]);
});

test("a reset is counted once, though the fetch loops of several brokers see it, and the next one again", async () => {
  const { ownership, fetch, resets } = await world();
  const topicId = null;
  const seen = (offset: number) =>
    ownership.offsetsFetched([
      { topic: TOPIC, topicId, partition: PARTITION, offset, metadata: "" },
    ]);
  // What an earlier owner has left.
  for (let loop = 0; loop < 3; loop += 1) seen(-2);
  expect(resets()).toBe(0);
  await (await fetch("1")).answers(range(0, 10));
  for (let loop = 0; loop < 3; loop += 1) seen(-2);
  expect(resets()).toBe(1);
  await (await fetch("1")).answers(range(10, 20));
  seen(-2);
  expect(resets()).toBe(2);
});

test("where partitions pause, what is fetched of each is its share", async () => {
  const { ownership, kafka, member } = await world({ whenFull: "pause" });
  ownership.assign(member, { [TOPIC]: range(0, 8) });
  const { asked } = await kafka.fetch("1");
  expect(asked.topics[0]?.partitions[0]?.maxBytes).toBe(125_000);
});

test("what is finished while a partition drains is committed before it is abandoned", async () => {
  const taker = new Taker({
    onDrain: async () => {
      for (const taken of taker.taken.slice(0, 3)) taker.finish(taken);
    },
  });
  const { ownership, commits, fetch } = await world({ taker });
  await (await fetch("1")).answers(range(0, 5));
  await ownership.revoke();
  expect(commits).toEqual([3]);
  taker.tenures[0]?.assigned.finish(3);
  expect(ownership.progress()).toEqual([]);
});

test("what was finished and could not be committed is not handed over again by this process", async () => {
  const { kafka, taker, offsets, ownership, commits, memory, join, fetch } = await world();
  const fetchAll = async () => {
    const fetching = await fetch("1");
    const at = { topic: TOPIC, partition: PARTITION, topicId: "an-id", metadata: "" };
    ownership.offsetsFetched([{ ...at, offset: 0 }]);
    await fetching.answers(range(0, 5));
  };
  await fetchAll();
  for (const taken of taker.taken.filter(({ offset }) => [0, 1, 3].includes(offset))) {
    taker.finish(taken);
  }
  kafka.coordinator.onCommit = () => Promise.reject(new Error("the broker is gone"));
  await ownership.revoke();
  await join();
  await fetchAll();
  expect(offsets().slice(5)).toEqual([2, 4]);
  kafka.coordinator.onCommit = () => Promise.resolve();
  await ownership.revoke();
  expect(commits).toEqual([2]);
  expect(memory.finished.size).toBe(0);
});

test("while the session surely lasts a partition is ours without asking", async () => {
  const { kafka, isOurs } = await world();
  await expect(isOurs()).resolves.toBe(true);
  expect(kafka.coordinator.heartbeats).toBe(0);
});

test.each(["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"])(
  "after that it is not ours when the coordinator answers %s",
  async (type) => {
    const { kafka, silence, isOurs } = await world();
    silence.ms = 60_000;
    kafka.coordinator.onHeartbeat = () => {
      throw refusal(type);
    };
    await expect(isOurs()).resolves.toBe(false);
  },
);

test("without a response nobody knows, so the coordinator is asked again", async () => {
  stepTimers();
  const { kafka, silence, isOurs } = await world();
  const { coordinator } = kafka;
  silence.ms = 60_000;
  coordinator.onHeartbeat = () => {
    if (coordinator.heartbeats === 1) throw refusal("REQUEST_TIMED_OUT");
  };
  expect(await ended(Promise.resolve(isOurs()))).toBe(true);
  expect(coordinator.heartbeats).toBe(2);
});

test("what was committed in an earlier topic of the same name is not gone on from", async () => {
  const { ownership, lines } = await world();
  const at = { topic: TOPIC, partition: PARTITION, metadata: "" };
  expect(ownership.offsetsFetched([{ ...at, topicId: "first", offset: 3 }])).toEqual([]);
  const committed = { ...at, topicId: "second", offset: 5 };
  expect(ownership.offsetsFetched([committed])).toEqual([committed]);
  expect(lines.seen).toEqual(["kafka.topic.recreated"]);
  expect(ownership.offsetsFetched([committed])).toEqual([]);
});

const CORRUPT = { topic: TOPIC, partition: PARTITION, offset: 5, behind: 8, isEndKnown: true };

test("a batch that is corrupt twice is passed: exactly its offsets, and told of once", async () => {
  const skipped: CorruptBatch[] = [];
  const { taker, offsets, ownership, commits, fetch } = await world({
    onSkipped: (batch) => skipped.push(batch),
  });
  const batch = { ...CORRUPT, corruption: "its checksum is wrong" };
  await (await fetch("1")).answers(range(0, 5));
  await (await fetch("1")).isCorrupt(batch);
  expect([skipped, ownership.progress()[0]?.next]).toEqual([[], 5]);
  await (await fetch("1")).isCorrupt(batch);
  expect([skipped, ownership.progress()[0]?.next]).toEqual([[batch], 8]);
  await (await fetch("1")).answers(range(8, 10));
  expect(offsets()).toEqual([...range(0, 5), 8, 9]);
  for (const taken of taker.taken) if (taken.offset !== 3) taker.finish(taken);
  await ownership.revoke();
  // What lies before the batch is not given up with it.
  expect(commits).toEqual([3]);
});

test("a batch that was corrupt on its way is read at the next try", async () => {
  const skipped: CorruptBatch[] = [];
  const { offsets, fetch } = await world({ onSkipped: (batch) => skipped.push(batch) });
  const batch = { ...CORRUPT, offset: 0, corruption: "its checksum is wrong" };
  await (await fetch("1")).isCorrupt(batch);
  await (await fetch("1")).answers(range(0, 9));
  expect([skipped, offsets()]).toEqual([[], range(0, 9)]);
});

test("a passed batch at the partition's end is committed, though nothing comes after it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  const { commits, fetch } = await world({ onSkipped: () => undefined });
  const batch = { ...CORRUPT, offset: 0, corruption: "its checksum is wrong" };
  await (await fetch("1")).isCorrupt(batch);
  await (await fetch("1")).isCorrupt(batch);
  await vi.advanceTimersByTimeAsync(1_050);
  expect(commits).toEqual([8]);
});

test.each([
  ["of another topic", "sw1:5:first:", "second", true],
  ["of another topic, with ranges", "sw1:5:first:BB", "second", true],
  ["of this topic", "sw1:5:second:", "second", false],
  ["of another offset, which somebody has moved", "sw1:4:first:", "second", false],
  ["of an earlier version", "", "second", false],
  ["of somebody else", "first", "second", false],
  ["of brokers that know no ids", "sw1:5::BB", "second", false],
  ["with brokers that know no ids any more", "sw1:5:first:", null, false],
])("to a new process a commit %s", async (_what, metadata, topicId, isAnew) => {
  const { ownership } = await world();
  const committed = { topic: TOPIC, partition: PARTITION, offset: 5, metadata, topicId };
  expect(ownership.offsetsFetched([committed])).toEqual(isAnew ? [committed] : []);
});

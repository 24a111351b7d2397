// What comes in while a partition moves between leaders, with kafkajs' own group: that one keeps
// where a fetch begins.

import { expect, test } from "vitest";

import { consumerGroupHooks } from "../../src/kafka/consumer-group.ts";
import { PartitionAssigners } from "../../src/kafka/kafkajs.ts";
import { Ownership } from "../../src/kafka/ownership.ts";
import { SessionLease } from "../../src/kafka/session-lease.ts";
import { Signal } from "../../src/kafka/signal.ts";
import { GroupWorld, PARTITION, TOPIC } from "../support/kafkajs-group.ts";
import { LogLines } from "../support/log-lines.ts";
import { Taker } from "../support/taker.ts";

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** A member that owns one partition and has committed nothing. */
async function world(whenFull: "hold" | "pause" = "hold") {
  const lines = new LogLines();
  const taker = new Taker();
  let resets = 0;
  const ownership = new Ownership({
    consume: {
      groupId: "g",
      topics: [TOPIC],
      whenFull,
      partitionRecordsMax: 1_000,
      bytesMax: 1_000_000,
      drainLimitMs: 0,
      onAssigned: taker.onAssigned,
      onCrash: () => undefined,
    },
    times: { pollMs: 5_000, heartbeatMs: 1_000, rebalanceTimeoutMs: 60_000 },
    memory: new Map(),
    lease: new SessionLease(10_000, Date.now),
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
  await group.joinAndSync();
  ownership.assign(group, { [TOPIC]: [PARTITION] });
  const fetch = async (nodeId: string) => {
    const { answered, outOfRange } = await kafka.fetch(nodeId);
    return {
      answers: async (offsets: readonly number[], end?: number) =>
        ownership.offer(group, await answered(offsets, end)),
      isOutOfRange: async () => ownership.offer(group, await outOfRange()),
    };
  };
  const offsets = () => taker.taken.map(({ offset }) => offset);
  const { commits } = kafka.coordinator;
  return { kafka, lines, taker, offsets, ownership, commits, resets: () => resets, fetch };
}

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
  await ownership.giveUp();
  expect(commits).toEqual([100]);
  expect(lines.seen).toEqual([]);
});

test("a log that was cut off is read anew from its beginning, with a new handler", async () => {
  const { taker, offsets, ownership, commits, fetch, lines, resets } = await world();
  await (await fetch("1")).answers(range(0, 100));
  for (const taken of taker.taken.slice(0, 50)) taker.finish(taken);
  await (await fetch("1")).isOutOfRange();
  await (await fetch("1")).answers(range(0, 60), 60);
  expect(taker.tenures).toHaveLength(2);
  expect(offsets().slice(100)).toEqual(range(0, 60));
  for (const offset of range(0, 100)) taker.tenures[0]?.assigned.finish(offset);
  taker.tenures[1]?.assigned.finish(0);
  await ownership.giveUp();
  expect(commits).toEqual([-2, 1]);
  expect([lines.seen, resets()]).toEqual([
    ["kafka.offset.out-of-range", "kafka.partition.cut-off"],
    1,
  ]);
});

test("an answer from before a reset passes nothing that is read after it", async () => {
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
  await ownership.giveUp();
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
  const { ownership, kafka } = await world("pause");
  ownership.assign(kafka.group, { [TOPIC]: range(0, 8) });
  const { asked } = await kafka.fetch("1");
  expect(asked.topics[0]?.partitions[0]?.maxBytes).toBe(125_000);
});

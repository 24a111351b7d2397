// What a member owns from the assignment until it is revoked, and what arrives while a partition moves between leaders.

import { afterEach, expect, test, vi } from "vitest";
import { Signal } from "../../../../src/base/runtime/signal.ts";
import type { CorruptBatch } from "../../../../src/domain/corrupt-batch.ts";
import type { LostRecords } from "../../../../src/domain/lost-records.ts";
import { LogEnds } from "../../../../src/kafka/cluster/log-ends.ts";
import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { encodeRanges } from "../../../../src/kafka/consume/finished-ranges.ts";
import { newMemory, Ownership } from "../../../../src/kafka/consume/ownership.ts";
import { SessionLease } from "../../../../src/kafka/consume/session-lease.ts";
import { ended, stepTimers } from "../../../support/clock/stepped-timers.ts";
import { Taker } from "../../../support/contract/taker.ts";
import { OnePartition, PARTITION, TOPIC } from "../../../support/kafka-client/one-partition.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

interface Given {
  readonly whenFull?: "hold" | "pause";
  readonly taker?: Taker;
  readonly onSkipped?: (batch: CorruptBatch) => void;
  readonly ends?: LogEnds;
}

/** Creates a member that owns one partition and has committed nothing. */
function world({
  whenFull = "hold",
  taker = new Taker(),
  onSkipped,
  ends = new LogEnds(),
}: Given = {}) {
  const lines = new LogLines();
  const memory = newMemory();
  /** The time since the coordinator last recognized the member. */
  const silence = { ms: 0 };
  const lease = new SessionLease(10_000, () => Date.now() + silence.ms);
  let resets = 0;
  const lost: LostRecords[] = [];
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
      onLost: (records) => lost.push(records),
      ...(onSkipped !== undefined && { onSkipped }),
    },
    times: { heartbeatMs: 1_000, rebalanceTimeoutMs: 60_000 },
    memory,
    lease,
    ends,
    commits: new CommitPace(),
    wake: new Signal(),
    onOffsetReset: () => {
      resets += 1;
    },
    log: lines.log,
  });
  const member = new OnePartition();
  member.wrapHeartbeat = (send) => lease.heartbeat(member, send);
  const place = { topic: TOPIC, partition: PARTITION };
  const join = () => {
    lease.start();
    ownership.assign(member, { [TOPIC]: [PARTITION] });
    member.position = member.commits.at(-1) ?? 0;
    ownership.offsetsFetched([{ ...place, topicId: null, offset: member.position, metadata: "" }]);
  };
  join();
  const fetch = () => {
    const responded = member.fetch();
    return {
      responds: (offsets: readonly number[], end?: number) =>
        ownership.offer(member, [responded(offsets, end)]),
      isCorrupt: (batch: CorruptBatch) => {
        const corrupt = { corrupt: batch, last: batch.behind - 1 };
        ownership.offer(member, [Object.assign(responded([]), corrupt)]);
      },
      isOutOfRange: () => {
        ownership.offsetsFetched([{ ...place, topicId: null, offset: -2, metadata: "" }]);
        member.position = 0;
      },
    };
  };
  const offsets = () => taker.taken.map(({ offset }) => offset);
  const { commits } = member;
  const isOurs = () => taker.tenures.at(-1)?.assigned.isOurs();
  return {
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
    ends,
    lost,
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
  ["an empty response", []],
  ["a response with records", range(100, 120)],
])("%s that comes late from a former leader changes nothing", async (_name, late) => {
  const { taker, offsets, ownership, commits, fetch, lines } = world();
  fetch().responds(range(0, 100));
  const fromFormer = fetch();
  fetch().responds(range(100, 200));
  fromFormer.responds(late);
  fetch().responds(range(200, 210));
  expect(offsets()).toEqual(range(0, 210));
  for (const taken of taker.taken) {
    if (taken.offset < 100 || taken.offset >= 200) taker.finish(taken);
  }
  await ownership.revoke();
  expect(commits).toEqual([100]);
  expect(lines.seen).toEqual([]);
});

test("a log that was cut off is read again from its beginning, with a new handler", async () => {
  const { taker, offsets, ownership, commits, fetch, lines, resets } = world();
  fetch().responds(range(0, 100));
  for (const taken of taker.taken.slice(0, 50)) taker.finish(taken);
  fetch().isOutOfRange();
  fetch().responds(range(0, 60), 60);
  expect(taker.tenures).toHaveLength(2);
  expect(offsets().slice(100)).toEqual(range(0, 60));
  for (const offset of range(0, 100)) taker.tenures[0]?.assigned.finish(offset);
  taker.tenures[1]?.assigned.finish(0);
  await ownership.revoke();
  expect(commits).toEqual([1]);
  expect([lines.seen, resets()]).toEqual([
    ["kafka.offset.out-of-range", "kafka.partition.truncated"],
    1,
  ]);
});

test("a response from before a reset passes nothing that is read after it", async () => {
  const { taker, offsets, ownership, commits, fetch } = world();
  fetch().responds(range(0, 100));
  const fromFormer = fetch();
  fetch().isOutOfRange();
  fetch().responds(range(0, 20), 60);
  fromFormer.responds(range(100, 200));
  fetch().responds(range(20, 60), 60);
  expect(offsets().slice(100)).toEqual(range(0, 60));
  for (const taken of taker.taken) taker.finish(taken);
  await ownership.revoke();
  expect(commits).toEqual([60]);
});

test("a reset is counted once, however often it is reported, and the next one again", async () => {
  const { member, ownership, fetch, resets } = world();
  const topicId = null;
  ownership.fence();
  ownership.assign(member, { [TOPIC]: [PARTITION] });
  const seen = (offset: number) =>
    ownership.offsetsFetched([
      { topic: TOPIC, topicId, partition: PARTITION, offset, metadata: "" },
    ]);
  // These are the records that an earlier owner has left.
  for (let loop = 0; loop < 3; loop += 1) seen(-2);
  expect(resets()).toBe(0);
  fetch().responds(range(0, 10));
  for (let loop = 0; loop < 3; loop += 1) seen(-2);
  expect(resets()).toBe(1);
  fetch().responds(range(10, 20));
  seen(-2);
  expect(resets()).toBe(2);
});

test("what is finished while a partition drains is committed before it is abandoned", async () => {
  const taker = new Taker({
    onDrain: async () => {
      for (const taken of taker.taken.slice(0, 3)) taker.finish(taken);
    },
  });
  const { ownership, commits, fetch } = world({ taker });
  fetch().responds(range(0, 5));
  await ownership.revoke();
  expect(commits).toEqual([3]);
  taker.tenures[0]?.assigned.finish(3);
  expect(ownership.owned).toEqual([]);
});

test("what was finished and could not be committed is not handed over again by this process", async () => {
  const { member, taker, offsets, ownership, commits, memory, join, fetch } = world();
  const fetchAll = async () => {
    const fetching = fetch();
    const at = { topic: TOPIC, partition: PARTITION, topicId: "an-id", metadata: "" };
    ownership.offsetsFetched([{ ...at, offset: 0 }]);
    fetching.responds(range(0, 5));
  };
  await fetchAll();
  for (const taken of taker.taken.filter(({ offset }) => [0, 1, 3].includes(offset))) {
    taker.finish(taken);
  }
  member.onCommit = () => Promise.reject(new Error("the broker is gone"));
  await ownership.revoke();
  join();
  await fetchAll();
  expect(offsets().slice(5)).toEqual([2, 4]);
  member.onCommit = () => Promise.resolve();
  await ownership.revoke();
  expect(commits).toEqual([2]);
  expect(memory.finished.size).toBe(0);
});

test("while the session surely lasts a partition is ours without asking", async () => {
  const { member, isOurs } = world();
  await expect(isOurs()).resolves.toBe(true);
  expect(member.heartbeats).toBe(0);
});

test.each(["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"])(
  "after that it is not ours when the coordinator responds %s",
  async (type) => {
    const { member, silence, isOurs } = world();
    silence.ms = 60_000;
    member.onHeartbeat = () => {
      throw refusal(type);
    };
    await expect(isOurs()).resolves.toBe(false);
  },
);

test("without a response nobody knows, so the coordinator is asked again", async () => {
  stepTimers();
  const { member, silence, isOurs } = world();
  silence.ms = 60_000;
  member.onHeartbeat = () => {
    if (member.heartbeats === 1) throw refusal("REQUEST_TIMED_OUT");
  };
  expect(await ended(Promise.resolve(isOurs()))).toBe(true);
  expect(member.heartbeats).toBe(2);
});

test("what was committed in an earlier topic of the same name is not gone on from", async () => {
  const { ownership, lines } = world();
  const at = { topic: TOPIC, partition: PARTITION, metadata: "" };
  expect(ownership.offsetsFetched([{ ...at, topicId: "first", offset: 3 }])).toEqual([]);
  const committed = { ...at, topicId: "second", offset: 5 };
  expect(ownership.offsetsFetched([committed])).toEqual([committed]);
  expect(lines.seen).toEqual(["kafka.topic.recreated"]);
  expect(ownership.offsetsFetched([committed])).toEqual([]);
});

test.each([
  ["the same topic", "first", []],
  ["another topic of the name", "second", [{ topic: TOPIC, records: 47 }]],
])("what was not processed when a partition was left: %s", (_name, topicId, expected) => {
  const { ownership, taker, fetch, lost, resets, ends } = world();
  const at = { topic: TOPIC, partition: PARTITION, metadata: "" };
  ownership.offsetsFetched([{ ...at, topicId: "first", offset: 0 }]);
  fetch().responds(range(0, 10), 54);
  for (const taken of taker.taken.slice(0, 7)) taker.finish(taken);
  // A check has already found the end of the new topic.
  ends.setEnd(TOPIC, PARTITION, { end: 54, atMs: 1 });
  ends.setEnd(TOPIC, PARTITION, { end: 0, atMs: 2 });
  ownership.fence();
  // The brokers have deleted the commits of the deleted topic.
  ownership.offsetsFetched([{ ...at, topicId, offset: -1 }]);
  expect([lost, resets()]).toEqual([expected, expected.length]);
  ownership.offsetsFetched([{ ...at, topicId, offset: -1 }]);
  expect(lost).toEqual(expected);
});

test("if nothing was left in an earlier topic, nothing was lost; if only its commit is known, that is unknown", () => {
  const at = { topic: TOPIC, partition: PARTITION };
  const metadata = encodeRanges(5, "first", []);
  const known = world();
  known.ownership.offsetsFetched([{ ...at, topicId: "first", offset: 0, metadata: "" }]);
  known.fetch().responds(range(0, 5), 5);
  for (const taken of known.taker.taken) known.taker.finish(taken);
  known.ownership.fence();
  known.ownership.offsetsFetched([{ ...at, topicId: "second", offset: 5, metadata }]);
  expect([known.lost, known.lines.seen]).toEqual([[], ["kafka.topic.recreated"]]);
  const restarted = world();
  restarted.ownership.offsetsFetched([{ ...at, topicId: "second", offset: 5, metadata }]);
  expect([restarted.lost, restarted.resets()]).toEqual([[{ topic: TOPIC, records: 0 }], 1]);
});

const CORRUPT = { topic: TOPIC, partition: PARTITION, offset: 5, behind: 8, isEndKnown: true };

test("a batch that is corrupt twice is passed: exactly its offsets, and reported once", async () => {
  const skipped: CorruptBatch[] = [];
  const { taker, offsets, ownership, commits, fetch } = world({
    onSkipped: (batch) => skipped.push(batch),
  });
  const batch = { ...CORRUPT, corruption: "its checksum is wrong" };
  fetch().responds(range(0, 5));
  fetch().isCorrupt(batch);
  expect([skipped, ownership.owned[0]?.progress().next]).toEqual([[], 5]);
  fetch().isCorrupt(batch);
  expect([skipped, ownership.owned[0]?.progress().next]).toEqual([[batch], 8]);
  fetch().responds(range(8, 10));
  expect(offsets()).toEqual([...range(0, 5), 8, 9]);
  for (const taken of taker.taken) if (taken.offset !== 3) taker.finish(taken);
  await ownership.revoke();
  // Records before the batch are not skipped with it.
  expect(commits).toEqual([3]);
});

test("a batch that was corrupt on its way is read at the next try", async () => {
  const skipped: CorruptBatch[] = [];
  const { offsets, fetch } = world({ onSkipped: (batch) => skipped.push(batch) });
  const batch = { ...CORRUPT, offset: 0, corruption: "its checksum is wrong" };
  fetch().isCorrupt(batch);
  fetch().responds(range(0, 9));
  expect([skipped, offsets()]).toEqual([[], range(0, 9)]);
});

test("a passed batch at the partition's end is committed, though nothing comes after it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  const { commits, fetch } = world({ onSkipped: () => undefined });
  const batch = { ...CORRUPT, offset: 0, corruption: "its checksum is wrong" };
  fetch().isCorrupt(batch);
  fetch().isCorrupt(batch);
  await vi.advanceTimersByTimeAsync(1_050);
  expect(commits).toEqual([8]);
});

test.each([
  ["of another topic", "sw1:5:first:", "second", true],
  ["of another topic, with ranges", "sw1:5:first:BB", "second", true],
  ["of this topic", "sw1:5:second:", "second", false],
  ["of another offset, which somebody has moved", "sw1:4:first:", "second", false],
  ["without metadata", "", "second", false],
  ["of somebody else", "first", "second", false],
  ["of brokers that know no ids", "sw1:5::BB", "second", false],
  ["with brokers that know no ids any more", "sw1:5:first:", null, false],
])("to a new process a commit %s", async (_what, metadata, topicId, isAnew) => {
  const { ownership } = world();
  const committed = { topic: TOPIC, partition: PARTITION, offset: 5, metadata, topicId };
  expect(ownership.offsetsFetched([committed])).toEqual(isAnew ? [committed] : []);
});

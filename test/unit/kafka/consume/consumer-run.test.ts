// One run of a consumer, with a group member for which the test is the coordinator and the broker: what the run leaves
// behind when it ends, and what it checks before it passes on records.

import { afterEach, expect, test, vi } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { ConnectionClosedError } from "../../../../src/kafka/broker/errors.ts";
import { LogEnds } from "../../../../src/kafka/cluster/log-ends.ts";
import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { ConsumerRun } from "../../../../src/kafka/consume/consumer-run.ts";
import { newMemory } from "../../../../src/kafka/consume/ownership.ts";
import { encodeSubscription } from "../../../../src/kafka/group/assignment.ts";
import { GroupMember } from "../../../../src/kafka/group/member.ts";
import { Taker } from "../../../support/contract/taker.ts";
import { GroupWorld, TOPIC } from "../../../support/kafka-client/group-world.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const CORRUPT = new CorruptBatchError("its length is 0", 10, {
  ...{ topic: TOPIC, partition: 0, offset: 10, behind: 11, isEndKnown: true },
  corruption: "its length is 0",
});
const FORBIDDEN = typed("TOPIC_AUTHORIZATION_FAILED");
const UNKNOWN = typed("UNKNOWN_TOPIC_OR_PARTITION");
const CUT = new ConnectionClosedError("closed");

function typed(type: string): Error {
  return Object.assign(new Error(type), { type });
}

afterEach(() => {
  vi.useRealTimers();
});

/** Creates a run that has not started yet. @param drained a drain waits for it. */
function world(drained?: Promise<void>) {
  const kafka = new GroupWorld();
  const taker = new Taker({ onDrain: async () => await drained });
  const foreign: (readonly string[])[] = [];
  const lines = new LogLines();
  const memory = newMemory();
  const halted: number[] = [];
  const unread: (readonly string[])[] = [];
  const run = new ConsumerRun({
    createMembership: (options, events) => new GroupMember(options, events, kafka.world),
    sessionTimeoutMs: 10_000,
    recordMaxBytes: () => 1_000_000,
    consume: {
      groupId: "g",
      topics: [TOPIC],
      whenFull: "hold",
      partitionRecordsMax: 1_000,
      maxBytes: 1_000_000,
      drainLimitMs: drained === undefined ? 0 : 10_000,
      onAssigned: taker.onAssigned,
      onHalted: (_error, waitMs) => void halted.push(waitMs),
      onCrash: () => undefined,
    },
    memory,
    commits: new CommitPace(),
    ends: new LogEnds(),
    onForeignMembers: (clientIds) => foreign.push(clientIds),
    onUnreadTopics: (topics) => unread.push(topics),
    onJoined: () => undefined,
    onOffsetReset: () => undefined,
    log: lines.log,
  });
  return { run, taker, lines, kafka, foreign, memory, halted, unread };
}

/** Resolves when everything that was started waits for the test. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

async function started() {
  const all = world();
  await all.run.start();
  await settled();
  return all;
}

/** Ten records are in flight, and the first five of them are finished. */
async function halfDone() {
  const all = await started();
  all.kafka.fetch().responded([...Array(10).keys()]);
  for (const taken of all.taker.taken.slice(0, 5)) all.taker.finish(taken);
  return all;
}

const offsets = ({ taken }: Taker) => taken.map(({ offset }) => offset);

test("a leader that cannot see another process's topic reports it, and assigns again when it can", async () => {
  const { run, kafka, unread } = world();
  kafka.coordinator.isLeader = true;
  kafka.coordinator.otherSubscription = encodeSubscription([TOPIC, "other"]);
  await run.start();
  await settled();
  kafka.found();
  await settled();
  expect(unread).toEqual([["other"]]);
  kafka.otherNodes = [1, 1];
  kafka.found();
  await settled();
  expect(unread).toEqual([["other"], []]);
  await run.stop();
});

test("what was finished is committed before a missing permission ends the run", async () => {
  const { run, kafka } = await halfDone();
  kafka.fetch().failed(FORBIDDEN);
  expect(await run.ended).toBe(FORBIDDEN);
  expect(kafka.coordinator.commits).toEqual([5]);
});

test("a coordinator that does not respond holds up no end", async () => {
  const { run, kafka } = await halfDone();
  kafka.coordinator.onCommit = () => new Promise(() => undefined);
  vi.useFakeTimers();
  kafka.fetch().failed(FORBIDDEN);
  await vi.runAllTimersAsync();
  expect(await run.ended).toBe(FORBIDDEN);
});

test("a corrupt batch halts its partition until it can be read, also over a rebalance", async () => {
  vi.useFakeTimers();
  const { run, kafka, memory, halted, taker } = await started();
  kafka.fetch().responded([...Array(10).keys()]);
  for (const taken of taker.taken) taker.finish(taken);
  const halts = () => [...memory.halts.values()];
  for (const waitMs of [1_000, 2_000]) {
    kafka.fetch().failed(CORRUPT);
    await vi.advanceTimersByTimeAsync(waitMs);
  }
  expect(halted).toEqual([1_000, 2_000]);
  expect(halts()).toEqual([CORRUPT]);
  expect(run.isAssigned).toBe(true);
  kafka.coordinator.onHeartbeat = () => {
    kafka.coordinator.onHeartbeat = () => undefined;
    throw typed("REBALANCE_IN_PROGRESS");
  };
  await vi.advanceTimersByTimeAsync(6_000);
  expect(kafka.coordinator.joinedAs).toHaveLength(3);
  expect(halts()).toEqual([CORRUPT]);
  kafka.fetch().responded([11]);
  expect(halts()).toEqual([]);
  expect(taker.taken.at(-1)?.offset).toBe(11);
  kafka.fetch().failed(CORRUPT);
  expect(halted).toEqual([1_000, 2_000, 1_000]);
  await vi.advanceTimersByTimeAsync(1_000);
  await run.stop();
});

test("a stop commits what is finished, leaves the group, and says nothing", async () => {
  const { run, lines, kafka } = await halfDone();
  await run.stop();
  expect(kafka.coordinator.commits).toEqual([5]);
  expect(kafka.coordinator.requests.at(-1)).toBe("LeaveGroup");
  expect(lines.seen).toEqual([]);
});

test("a stop that cannot commit what is finished says so", async () => {
  const { run, lines, kafka } = await halfDone();
  kafka.coordinator.onCommit = () => Promise.reject(typed("UNKNOWN_MEMBER_ID"));
  await run.stop();
  expect(lines.seen).toEqual(["kafka.commit.abandoned"]);
});

test("a stop while the group waits for its members leaves the group, and holds nothing up", async () => {
  const { run, kafka } = world();
  kafka.coordinator.onJoin = async () => {
    if (kafka.coordinator.joinedAs.length === 2) await new Promise(() => undefined);
  };
  void run.start();
  await settled();
  await run.stop();
  expect(await run.ended).toBe(null);
  expect(kafka.coordinator.requests.at(-1)).toBe("LeaveGroup");
});

test("a topic that one broker does not know for a while is joined when it does", async () => {
  vi.useFakeTimers();
  const { run, kafka } = world();
  kafka.topicError = 3;
  const joined = run.start();
  await vi.advanceTimersByTimeAsync(3_500);
  expect(run.isAssigned).toBe(false);
  kafka.topicError = 0;
  await vi.advanceTimersByTimeAsync(1_000);
  await joined;
  expect(run.owned).toHaveLength(1);
});

test("one that stays unknown while joining ends the run", async () => {
  vi.useFakeTimers();
  const { run, kafka } = world();
  kafka.topicError = 3;
  void run.start();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await run.ended).toMatchObject({ type: "UNKNOWN_TOPIC_OR_PARTITION" });
});

test("a join that the coordinator cuts off is tried again: the next one knows of no rebalance", async () => {
  vi.useFakeTimers();
  const { run, taker, kafka } = await halfDone();
  let times = 0;
  kafka.coordinator.onSync = () => {
    times += 1;
    if (times < 4) throw CUT;
  };
  kafka.coordinator.onHeartbeat = () => {
    kafka.coordinator.onHeartbeat = () => undefined;
    throw typed("REBALANCE_IN_PROGRESS");
  };
  await vi.advanceTimersByTimeAsync(3_000);
  expect([times, run.isAssigned]).toEqual([4, true]);
  kafka.fetch().responded([5, 6]);
  expect(taker.taken.at(-1)?.offset).toBe(6);
});

test("one that stays cut off ends the run", async () => {
  vi.useFakeTimers();
  const { run, kafka } = world();
  kafka.coordinator.onSync = () => {
    throw CUT;
  };
  void run.start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await run.ended).toBe(CUT);
});

test("a topic that is gone for good ends the run, after what was finished is committed", async () => {
  vi.useFakeTimers();
  const { run, kafka } = await halfDone();
  kafka.topicError = 3;
  kafka.topicId = "another-id";
  kafka.fetch().failed(UNKNOWN);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await run.ended).toMatchObject({ type: "UNKNOWN_TOPIC_OR_PARTITION" });
  expect(kafka.coordinator.commits).toEqual([5]);
});

test.each([
  ["a restarting broker does not know the topic", "UNKNOWN_TOPIC_OR_PARTITION"],
  ["the leader has moved", "NOT_LEADER_OR_FOLLOWER"],
  ["a broker is slow", "REQUEST_TIMED_OUT"],
])("no partition is given up because %s", async (_what, type) => {
  vi.useFakeTimers();
  const { taker, kafka } = await halfDone();
  const failure = Object.assign(typed(type), { retriable: true });
  kafka.fetch().failed(failure);
  await vi.advanceTimersByTimeAsync(400);
  kafka.fetch().responded([10, 11]);
  expect(offsets(taker)).toHaveLength(12);
  expect([kafka.refreshes, kafka.coordinator.joinedAs.length]).toEqual([1, 2]);
});

test("a member that was frozen while it joined asks before it hands anything over", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, taker, kafka } = world();
  kafka.coordinator.onSync = () => {
    vi.setSystemTime(Date.now() + 60_000);
  };
  await run.start();
  await settled();
  kafka.coordinator.onSync = () => undefined;
  const late = kafka.fetch();
  kafka.coordinator.onHeartbeat = () => {
    throw typed("UNKNOWN_MEMBER_ID");
  };
  late.responded([0, 1]);
  await settled();
  expect(taker.taken).toEqual([]);
  // The consumer has joined as a new member.
  expect(kafka.coordinator.joinedAs.filter((id) => id === "")).toHaveLength(2);
});

test.each(["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"])(
  "with %s nothing more is handed over, and joining continues from there",
  async (type) => {
    vi.useFakeTimers();
    const { taker, kafka } = await started();
    const late = kafka.fetch();
    kafka.coordinator.onHeartbeat = () => {
      throw typed(type);
    };
    const joined = Promise.withResolvers<void>();
    kafka.coordinator.onJoin = () => joined.promise;
    await vi.advanceTimersByTimeAsync(600);
    late.responded([0, 1]);
    expect(taker.taken).toEqual([]);
    kafka.coordinator.onHeartbeat = () => undefined;
    joined.resolve();
    await vi.advanceTimersByTimeAsync(1);
    kafka.fetch().responded([0, 1]);
    expect(offsets(taker)).toEqual([0, 1]);
    const isNew = kafka.coordinator.joinedAs.filter((id) => id === "").length === 2;
    expect(isNew).toBe(type === "UNKNOWN_MEMBER_ID");
  },
);

test("a member that may not stay hands nothing over any more, and its run ends", async () => {
  vi.useFakeTimers();
  const { run, taker, kafka } = await started();
  const late = kafka.fetch();
  kafka.coordinator.onHeartbeat = () => {
    throw typed("FENCED_INSTANCE_ID");
  };
  await vi.advanceTimersByTimeAsync(600);
  late.responded([0, 1]);
  expect(taker.taken).toEqual([]);
  expect(await run.ended).toMatchObject({ type: "FENCED_INSTANCE_ID" });
});

test("an outage that a heartbeat meets ends no fetch, and the next coordinator is found", async () => {
  vi.useFakeTimers();
  const { taker, kafka } = await started();
  const lookups = kafka.coordinatorLookups;
  kafka.coordinator.onHeartbeat = () => {
    throw CUT;
  };
  await vi.advanceTimersByTimeAsync(600);
  kafka.fetch().responded([0, 1]);
  expect(offsets(taker)).toEqual([0, 1]);
  expect(kafka.coordinatorLookups).toBeGreaterThan(lookups);
});

test("a coordinator that is away for longer than the session ends the run: others may own the partition", async () => {
  vi.useFakeTimers();
  const { taker, kafka, run } = await started();
  kafka.coordinator.onHeartbeat = () => {
    throw CUT;
  };
  await vi.advanceTimersByTimeAsync(9_000);
  expect([run.isAssigned, taker.tenures.length]).toEqual([true, 1]);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await run.ended).toBe(CUT);
});

test("the word of a rebalance that comes after the next assignment counts for nothing", async () => {
  vi.useFakeTimers();
  const { taker, kafka, run } = await started();
  const late = Promise.withResolvers<void>();
  kafka.coordinator.onHeartbeat = () => late.promise;
  await vi.advanceTimersByTimeAsync(600);
  expect(kafka.coordinator.heartbeats).toBe(1);
  // The member joins again, for another reason.
  kafka.topicId = "another-id";
  kafka.coordinator.onJoin = () => {
    kafka.topicId = "an-id";
  };
  kafka.fetch().failed(UNKNOWN);
  await vi.advanceTimersByTimeAsync(400);
  kafka.coordinator.onHeartbeat = () => undefined;
  expect(kafka.coordinator.joinedAs).toHaveLength(3);
  late.reject(typed("REBALANCE_IN_PROGRESS"));
  await vi.advanceTimersByTimeAsync(1);
  expect([kafka.coordinator.joinedAs.length, run.isAssigned]).toEqual([3, true]);
  kafka.fetch().responded([0, 1]);
  expect(offsets(taker)).toEqual([0, 1]);
});

test.each([
  ["is found", () => undefined],
  [
    "is unreachable meanwhile",
    () => {
      throw CUT;
    },
  ],
])("the coordinator is looked up while partitions are drained, and %s", async (_what, onLookup) => {
  vi.useFakeTimers();
  const drained = Promise.withResolvers<void>();
  const { run, taker, kafka } = world(drained.promise);
  await run.start();
  await vi.advanceTimersByTimeAsync(1);
  kafka.fetch().responded([0, 1]);
  for (const taken of taker.taken) taker.finish(taken);
  const [lookups, joins] = [kafka.coordinatorLookups, kafka.coordinator.joinedAs.length];
  kafka.onLookup = onLookup;
  kafka.coordinator.onHeartbeat = () => {
    throw typed("REBALANCE_IN_PROGRESS");
  };
  await vi.advanceTimersByTimeAsync(600);
  expect(kafka.coordinatorLookups).toBe(lookups + 1);
  expect(kafka.coordinator.joinedAs).toHaveLength(joins);
  kafka.onLookup = () => undefined;
  kafka.coordinator.onHeartbeat = () => undefined;
  drained.resolve();
  await vi.advanceTimersByTimeAsync(400);
  expect(kafka.coordinator.commits).toEqual([2]);
  expect([kafka.coordinator.joinedAs.length, run.isAssigned]).toEqual([joins + 1, true]);
});

test.each([
  [false, ["another"]],
  [true, ["unknown (consumer protocol, KIP-848)"]],
])("who assigns partitions is reported; nobody leads: %s", async (hasNoLeader, clients) => {
  const { run, kafka, foreign } = world();
  kafka.coordinator.hasNoLeader = hasNoLeader;
  await run.start();
  expect(foreign).toEqual([clients]);
});

test("partitions that are added make the group's leader join again, and nobody else", async () => {
  const { kafka } = await started();
  kafka.partitionCount = 2;
  kafka.found();
  await settled();
  expect(kafka.coordinator.joinedAs).toHaveLength(2);
  const leading = world();
  leading.kafka.coordinator.isLeader = true;
  await leading.run.start();
  await settled();
  leading.kafka.partitionCount = 2;
  leading.kafka.found();
  await settled();
  expect(leading.kafka.coordinator.joinedAs).toHaveLength(3);
});

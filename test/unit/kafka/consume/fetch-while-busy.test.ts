// Records that come while a fetch goes on are taken under the same conditions as those that end one.

import { expect, test } from "vitest";

import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { ConsumerRun } from "../../../../src/kafka/consume/consumer-run.ts";
import { GroupWatch } from "../../../../src/kafka/consume/group-watch.ts";
import { newMemory } from "../../../../src/kafka/consume/ownership.ts";
import type {
  GroupEvents,
  Member,
  Membership,
  TakeBatches,
} from "../../../../src/kafka/membership.ts";
import { Taker } from "../../../support/contract/taker.ts";
import { fetchedBatch } from "../../../support/kafkajs/fetched-batch.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const BATCH = { topic: "t", partition: 0 };

/** A run that owns one partition, whose fetch goes on. */
async function world({ recordsMax = 1_000, fetchSpacingMs = 0 } = {}) {
  const done = async () => undefined;
  const membership: Membership = {
    connect: done,
    subscribe: done,
    run: done,
    stop: done,
    disconnect: done,
    destroy: () => undefined,
    endFetches: () => undefined,
    fetchRespondedAtMs: () => null,
  };
  const passed = { next: 0 };
  const member = {
    pollMs: 1,
    heardAtMs: Date.now(),
    heartbeat: done,
    positionOf: () => passed.next,
    advance: (_topic: string, _partition: number, last: number) => {
      passed.next = last + 1;
    },
    commit: done,
    pause: () => undefined,
    resume: () => undefined,
    resumeAll: () => undefined,
    readsFrom: () => false,
  } as unknown as Member;
  const begun = Promise.withResolvers<GroupEvents>();
  const taker = new Taker();
  const run = new ConsumerRun({
    createMembership: (_options, events) => {
      begun.resolve(events);
      return membership;
    },
    sessionTimeoutMs: 10_000,
    recordMaxBytes: () => 1_000_000,
    consume: {
      groupId: "g",
      topics: [BATCH.topic],
      whenFull: "hold",
      partitionRecordsMax: recordsMax,
      maxBytes: 1_000_000,
      drainLimitMs: 0,
      ...(fetchSpacingMs === 0 ? {} : { fetchSpacingMs }),
      onAssigned: taker.onAssigned,
      onCrash: () => undefined,
    },
    memory: newMemory(),
    commits: new CommitPace(),
    groups: new GroupWatch(5_000),
    onForeignMembers: () => undefined,
    onJoined: () => undefined,
    onOffsetReset: () => undefined,
    log: new LogLines().log,
  });
  const events = await begun.promise;
  await events.beforeJoin(member);
  events.offsetsFetched([{ ...BATCH, topicId: "id", offset: 0, metadata: "" }]);
  events.assigned({ [BATCH.topic]: [BATCH.partition] });
  const offered = Promise.withResolvers<TakeBatches | undefined>();
  const over = Promise.withResolvers<readonly never[]>();
  const loop = events.fetch(member, "1", (_only, take) => {
    offered.resolve(take);
    return over.promise;
  });
  return { run, events, member, taker, take: await offered.promise, over, loop };
}

function records(offsets: readonly number[], from: number) {
  const last = offsets.at(-1) ?? null;
  return fetchedBatch(offsets, { from, end: 100, last });
}

test("records are handed over as they come, and the fetch continues behind them", async () => {
  const { run, taker, take, over, loop } = await world();
  expect(take?.([records([0, 1], 0)])).toBe(true);
  expect(take?.([records([2], 2)])).toBe(true);
  expect(taker.taken.map(({ offset }) => offset)).toEqual([0, 1, 2]);
  over.resolve([]);
  await loop;
  await run.stop();
});

test("a response to an earlier fetch is omitted, and ends this one", async () => {
  const { run, taker, take } = await world();
  expect(take?.([records([5], 5)])).toBe(false);
  expect(taker.taken).toEqual([]);
  await run.stop();
});

test("when something cannot be handed over the fetch ends: its loop waits for room", async () => {
  const { run, taker, take } = await world({ recordsMax: 2 });
  expect(take?.([records([0, 1, 2, 3], 0)])).toBe(false);
  expect(taker.taken.map(({ offset }) => offset)).toEqual([0, 1]);
  await run.stop();
});

test("nothing is taken for another assignment, nor after a stop", async () => {
  const { run, events, member, taker, take } = await world();
  await events.beforeJoin(member);
  expect(take?.([records([0], 0)])).toBe(false);
  events.assigned({ [BATCH.topic]: [BATCH.partition] });
  expect(take?.([records([0], 0)])).toBe(false);
  await run.stop();
  expect(take?.([records([0], 0)])).toBe(false);
  expect(taker.taken).toEqual([]);
});

test("a consumer that keeps a pace of its own has a fetch for each answer", async () => {
  const { run, take } = await world({ fetchSpacingMs: 50 });
  expect(take).toBeUndefined();
  await run.stop();
});

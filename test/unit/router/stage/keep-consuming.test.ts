// A consumer that is restarted, and the counters of the consumers before it.

import { expect, test } from "vitest";
import {
  type ConsumeOptions,
  type Consumer,
  type Kafka,
  TopicGoneError,
} from "../../../../src/kafka/port.ts";
import { KeptConsumer } from "../../../../src/router/stage/keep-consuming.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const OPTIONS = {
  groupId: "g",
  topics: ["t"],
  partitionRecordsMax: 1,
  maxBytes: 1,
  drainLimitMs: 1,
  whenFull: "hold" as const,
  onAssigned: () => ({ take: () => undefined, drain: () => Promise.resolve() }),
};

const VITALS = {
  isAssigned: true,
  ...{ fetchedAtMs: 5, heardAtMs: 6 },
  ...{
    commitFailures: 0,
    foreignMembers: [] as string[],
    unreadTopics: [] as string[],
    halts: [] as Error[],
  },
};

/** Creates consumers whose counters and crashes the test controls. */
function fakeKafka() {
  const started: { readonly options: ConsumeOptions; counts: [number, number, number] }[] = [];
  const consume = (options: ConsumeOptions): Consumer => {
    const own = { options, counts: [0, 0, 0] as [number, number, number] };
    started.push(own);
    return {
      joined: Promise.resolve(),
      stop: () => Promise.resolve(),
      progress: () => [],
      vitals: () => ({ ...VITALS, commitFailures: own.counts[2] }),
      rebalances: () => own.counts[0],
      offsetResets: () => own.counts[1],
    };
  };
  return { kafka: { consume } as unknown as Kafka, started };
}

test("what is counted continues over crashes", async () => {
  const { kafka, started } = fakeKafka();
  const clock = new ManualClock();
  const restarts: number[] = [];
  const kept = new KeptConsumer(kafka, OPTIONS, clock, (_error, waitMs) => restarts.push(waitMs));
  const [first] = started;
  if (first === undefined) throw new Error("nothing was started");
  first.counts = [3, 1, 4];
  first.options.onCrash(new Error("gone"));
  // While there is no consumer, no counts are lost.
  expect([kept.rebalances(), kept.offsetResets(), kept.healthProblem()]).toEqual([3, 1, "gone"]);
  expect(kept.vitals()).toEqual({ ...VITALS, isAssigned: false, commitFailures: 4 });
  await clock.advance(1_000);
  expect(restarts).toEqual([1_000]);
  expect(started).toHaveLength(2);
  const second = started[1];
  if (second !== undefined) second.counts = [2, 4, 1];
  expect([kept.rebalances(), kept.offsetResets(), kept.healthProblem()]).toEqual([5, 5, null]);
  expect(kept.vitals()).toEqual({ ...VITALS, commitFailures: 5 });
  await kept.stop();
});

/** Returns a keeper that reports for each crash whether the topic was missing, when the topic exists again. */
function keeper(wasGone: readonly boolean[]) {
  const there = wasGone.map(() => Promise.withResolvers<void>());
  let asked = 0;
  return {
    there,
    update: () => undefined,
    isMade: () => true,
    missing: () => undefined,
    untilThere: async () => {
      const at = asked;
      asked += 1;
      await there[at]?.promise;
      return wasGone[at] ?? false;
    },
  };
}

test("a consumer whose topic is gone starts as soon as the topic is there, however often it crashed", async () => {
  const { kafka, started } = fakeKafka();
  const clock = new ManualClock();
  const topics = keeper([false, false, true]);
  const kept = new KeptConsumer(kafka, OPTIONS, clock, () => undefined, { keeper: topics });
  for (const [at, waitMs] of [1_000, 2_000].entries()) {
    started[at]?.options.onCrash(new Error("a right is missing"));
    topics.there[at]?.resolve();
    await clock.advance(waitMs);
  }
  expect(started).toHaveLength(3);
  started[2]?.options.onCrash(new Error("gone"));
  // This is longer than any pause.
  await clock.advance(100_000);
  expect(started).toHaveLength(3);
  topics.there[2]?.resolve();
  await clock.advance(0);
  expect(started).toHaveLength(4);
  await kept.stop();
});

test("one whose topic was there again before anybody looked does not give up", async () => {
  const { kafka, started } = fakeKafka();
  const clock = new ManualClock();
  const topics = keeper([false, false]);
  for (const { resolve } of topics.there) resolve();
  const ends: string[] = [];
  const giveUp = (error: Error) => ends.push(error.message);
  const kept = new KeptConsumer(kafka, OPTIONS, clock, () => undefined, { keeper: topics, giveUp });
  started[0]?.options.onCrash(new TopicGoneError("gone"));
  await clock.advance(1_000);
  expect([started.length, ends]).toEqual([2, []]);
  await kept.stop();
  // Without a keeper, the consumer does not wait for the topic.
  const other = new KeptConsumer(kafka, OPTIONS, clock, () => undefined, { giveUp });
  started[2]?.options.onCrash(new TopicGoneError("gone"));
  await clock.advance(100_000);
  expect([started.length, ends]).toEqual([3, ["gone"]]);
  await other.stop();
});

test("one that gives up is started again only when its topic was gone", async () => {
  const { kafka, started } = fakeKafka();
  const clock = new ManualClock();
  const topics = keeper([true, false]);
  for (const { resolve } of topics.there) resolve();
  const ends: string[] = [];
  const giveUp = (error: Error) => ends.push(error.message);
  const kept = new KeptConsumer(kafka, OPTIONS, clock, () => undefined, { keeper: topics, giveUp });
  started[0]?.options.onCrash(new Error("gone"));
  await clock.advance(0);
  expect(started).toHaveLength(2);
  started[1]?.options.onCrash(new Error("a corrupt batch"));
  await clock.advance(100_000);
  expect([started.length, ends]).toEqual([2, ["a corrupt batch"]]);
  await kept.stop();
});

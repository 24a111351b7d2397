import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Committer } from "../../src/kafka/committer.ts";
import type { ConsumerGroup, OffsetsOfTopic } from "../../src/kafka/consumer-group.ts";
import type { Commit, OwnedPartition } from "../../src/kafka/owned-partition.ts";
import { LogLines } from "../support/log-lines.ts";

let commits: (readonly OffsetsOfTopic[])[] = [];
let failures: Error[] = [];
let lines = new LogLines();
let committer = new Committer("g", lines.log);

const group = {
  commitOffsets: async ({ topics }: { readonly topics: readonly OffsetsOfTopic[] }) => {
    commits.push(topics);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  },
} as unknown as ConsumerGroup;

function partition(topic: string, number: number, commit: Commit): OwnedPartition {
  let isCommitted = false;
  return {
    topic,
    partition: number,
    toCommit: () => (isCommitted ? null : commit),
    wasCommitted: () => {
      isCommitted = true;
    },
  } as unknown as OwnedPartition;
}

function failure(type: string): Error {
  return Object.assign(new Error(type), { type });
}

beforeEach(() => {
  commits = [];
  failures = [];
  lines = new LogLines();
  committer = new Committer("g", lines.log);
});

afterEach(() => {
  vi.useRealTimers();
});

test("commits what has changed, all partitions in one request, and nothing twice", async () => {
  committer.own(group, [
    partition("a", 0, { offset: 3, metadata: "m" }),
    partition("a", 1, { offset: 4, metadata: "" }),
    partition("b", 0, { offset: 5, metadata: "" }),
  ]);
  await committer.commit();
  await committer.commit();
  expect(commits).toEqual([
    [
      {
        topic: "a",
        partitions: [
          { partition: 0, offset: "3", metadata: "m" },
          { partition: 1, offset: "4", metadata: "" },
        ],
      },
      { topic: "b", partitions: [{ partition: 0, offset: "5", metadata: "" }] },
    ],
  ]);
  committer.stop();
});

test("a failed commit is made again, and is no news to an operator", async () => {
  failures = [failure("REBALANCE_IN_PROGRESS")];
  committer.own(group, [partition("a", 0, { offset: 3, metadata: "" })]);
  await committer.commit();
  await committer.commit();
  expect(commits).toHaveLength(2);
  expect(lines.seen).toEqual([]);
  committer.stop();
});

test("a broker that takes no long metadata gets none from then on, and that is said once", async () => {
  failures = [failure("OFFSET_METADATA_TOO_LARGE")];
  committer.own(group, [partition("a", 0, { offset: 3, metadata: "long" })]);
  await committer.commit();
  committer.own(group, [partition("a", 0, { offset: 4, metadata: "long" })]);
  await committer.commit();
  expect(commits.map(([topic]) => topic?.partitions[0])).toEqual([
    { partition: 0, offset: "3", metadata: "long" },
    { partition: 0, offset: "3", metadata: "" },
    { partition: 0, offset: "4", metadata: "" },
  ]);
  expect(lines.seen).toEqual(["kafka.commit.metadata-refused"]);
  committer.stop();
});

test("much progress is committed without waiting", async () => {
  committer.own(group, [partition("a", 0, { offset: 20_000, metadata: "" })]);
  for (let count = 0; count < 20_000; count += 1) committer.progressed();
  // Joins the commit that the progress has begun.
  await committer.commit();
  expect(commits).toHaveLength(1);
  committer.stop();
});

test("partitions that were given up are not committed", async () => {
  committer.own(group, [partition("a", 0, { offset: 3, metadata: "" })]);
  committer.stop();
  await committer.commit();
  expect(commits).toEqual([]);
});

test("a failed commit is made again although nothing more is finished", async () => {
  vi.useFakeTimers();
  failures = [failure("REQUEST_TIMED_OUT")];
  committer.own(group, [partition("a", 0, { offset: 3, metadata: "" })]);
  committer.progressed();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(commits).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(commits).toHaveLength(2);
  committer.stop();
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { Committer } from "../../../../src/kafka/consume/committer.ts";
import type { Commit } from "../../../../src/kafka/consume/finished-ranges.ts";
import type { OwnedPartition } from "../../../../src/kafka/consume/owned-partition.ts";
import type { Member, OffsetToCommit } from "../../../../src/kafka/membership.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

let commits: (readonly OffsetToCommit[])[] = [];
let failures: Error[] = [];
let lines = new LogLines();
let committer = new Committer({ groupId: "g" }, lines.log, new CommitPace());

const member = {
  commit: async (offsets: readonly OffsetToCommit[]) => {
    commits.push(offsets);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  },
} as unknown as Member;

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
  committer = new Committer({ groupId: "g" }, lines.log, new CommitPace());
});

afterEach(() => {
  vi.useRealTimers();
});

test("commits what has changed, all partitions in one request, and nothing twice", async () => {
  committer.own(member, [
    partition("a", 0, { offset: 3, metadata: "m" }),
    partition("a", 1, { offset: 4, metadata: "" }),
    partition("b", 0, { offset: 5, metadata: "" }),
  ]);
  await committer.commit();
  await committer.commit();
  expect(commits).toEqual([
    [
      { topic: "a", partition: 0, offset: 3, metadata: "m" },
      { topic: "a", partition: 1, offset: 4, metadata: "" },
      { topic: "b", partition: 0, offset: 5, metadata: "" },
    ],
  ]);
  committer.stop();
});

test("a failed commit is made again, and is no news to an operator", async () => {
  failures = [failure("REBALANCE_IN_PROGRESS")];
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "" })]);
  await committer.commit();
  await committer.commit();
  expect(commits).toHaveLength(2);
  expect(lines.seen).toEqual([]);
  committer.stop();
});

test.each([
  ["no long metadata gets the topic's id", 1, "sw1:3:id:"],
  ["not even the topic's id gets nothing", 2, ""],
])("a broker that takes %s from then on, and that is said once", async (_what, times, kept) => {
  failures = Array.from({ length: times }, () => failure("OFFSET_METADATA_TOO_LARGE"));
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "sw1:3:id:BC" })]);
  await committer.commit();
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "sw1:3:id:BBBB" })]);
  await committer.commit();
  expect(commits.map(([first]) => first?.metadata)).toEqual([
    "sw1:3:id:BC",
    ...(times === 1 ? [] : ["sw1:3:id:"]),
    kept,
    kept,
  ]);
  expect(lines.seen).toEqual(["kafka.commit.metadata-rejected"]);
  committer.stop();
});

test("much progress is committed without waiting", async () => {
  committer.own(member, [partition("a", 0, { offset: 20_000, metadata: "" })]);
  for (let count = 0; count < 20_000; count += 1) committer.progressed();
  // This joins the commit that progress has started.
  await committer.commit();
  expect(commits).toHaveLength(1);
  committer.stop();
});

test("partitions that were given up are not committed", async () => {
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "" })]);
  committer.stop();
  await committer.commit();
  expect(commits).toEqual([]);
});

test("a failed commit is made again although nothing more is finished", async () => {
  vi.useFakeTimers();
  failures = [failure("REQUEST_TIMED_OUT")];
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "" })]);
  committer.progressed();
  await vi.advanceTimersByTimeAsync(1_050);
  expect(commits).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_050);
  expect(commits).toHaveLength(2);
  committer.stop();
});

test("the last commit is made again while it fails, until it is made", async () => {
  vi.useFakeTimers();
  failures = [failure("REQUEST_TIMED_OUT"), failure("NOT_COORDINATOR")];
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "" })]);
  const last = committer.commitLast(5_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await last).toBeNull();
  expect(commits).toHaveLength(3);
  committer.stop();
});

test.each([
  ["its time is over", "REQUEST_TIMED_OUT", 1_000, 4],
  ["this is no member any more", "UNKNOWN_MEMBER_ID", 1_000, 1],
])("the last commit is abandoned when %s", async (_what, type, limitMs, times) => {
  vi.useFakeTimers();
  failures = Array.from({ length: 10 }, () => failure(type));
  committer.own(member, [partition("a", 0, { offset: 3, metadata: "" })]);
  const last = committer.commitLast(limitMs).finally(() => committer.stop());
  await vi.advanceTimersByTimeAsync(limitMs + 1_000);
  expect(await last).toMatchObject({ type });
  expect(commits).toHaveLength(times);
});

test.each([
  ["COORDINATOR_LOAD_IN_PROGRESS", 14, 12],
  ["NOT_COORDINATOR", 16, 12],
  // Here, no broker is unreachable.
  ["GROUP_AUTHORIZATION_FAILED", 30, 4],
])(
  "before a join a last commit waits longer for a coordinator that is away: %s",
  async (type, code, times) => {
    vi.useFakeTimers();
    failures = Array.from({ length: 30 }, () => protocolError(code));
    committer.own(member, [partition("a", 0, { offset: 3, metadata: "" })]);
    const last = committer.commitLast(1_000, 3_000).finally(() => committer.stop());
    await vi.advanceTimersByTimeAsync(4_000);
    expect(await last).toMatchObject({ type });
    expect(commits).toHaveLength(times);
  },
);

test("a last commit without a response is waited for no longer than its time", async () => {
  vi.useFakeTimers();
  const silent = { commit: () => new Promise(() => undefined) } as unknown as Member;
  committer.own(silent, [partition("a", 0, { offset: 3, metadata: "" })]);
  const last = committer.commitLast(5_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await last).toMatchObject({ message: "a commit took more than 5 s" });
  committer.stop();
});

test("a partition that is fenced while the report before the commit waits is not committed", async () => {
  const reported = Promise.withResolvers<void>();
  const beforeCommit = () => reported.promise;
  committer = new Committer({ groupId: "g", beforeCommit }, lines.log, new CommitPace());
  const fenced = { isFenced: false };
  const takeProcessed = () => ({ topic: "a", partition: 0, topicId: "", ranges: [[0, 3]] });
  const [lost, kept] = [0, 1].map((number) =>
    Object.assign(partition("a", number, { offset: 3, metadata: "" }), { takeProcessed }),
  );
  if (lost === undefined || kept === undefined) throw new Error("no partitions");
  Object.defineProperty(lost, "isFenced", { get: () => fenced.isFenced });
  committer.own(member, [lost, kept]);
  const committing = committer.commit();
  await Promise.resolve();
  fenced.isFenced = true;
  reported.resolve();
  await committing;
  expect(commits).toEqual([[{ topic: "a", partition: 1, offset: 3, metadata: "" }]]);
});

// Commits for groups, and the deletion of groups, with coordinators whose responses each test specifies.

import { expect, test } from "vitest";
import type { Request } from "../../../../src/kafka/broker/request.ts";
import type { Brokers } from "../../../../src/kafka/cluster/brokers.ts";
import { commitOffsets, deleteGroup } from "../../../../src/kafka/cluster/change-topics.ts";

const NOT_EMPTY = 68;
const NOT_FOUND = 69;
const UNKNOWN_MEMBER = 25;

/** Creates coordinators that respond with `codes` in turn. */
function world(codes: readonly number[]) {
  const left = [...codes];
  const sent: { readonly name: string; readonly args: readonly unknown[] }[] = [];
  const coordinator = {
    send: async ({ kind, args }: Request<unknown>) => {
      sent.push({ name: kind.apiName, args });
      const errorCode = left.shift() ?? 0;
      return { results: [{ errorCode }], topics: [{ partitions: [{ errorCode }] }] };
    },
  };
  const brokers = { coordinator: async () => coordinator };
  return { sent, brokers: brokers as unknown as Brokers };
}

const offsets = [{ partition: 0, offset: 5, metadata: "m" }];

test("a commit is sent to the coordinator", async () => {
  const { sent, brokers } = world([0]);
  await commitOffsets(brokers, "g", "t", offsets);
  const offset = { committedOffset: 5n, committedLeaderEpoch: -1, committedMetadata: "m" };
  const topics = [{ name: "t", partitions: [{ partitionIndex: 0, ...offset }] }];
  expect(sent).toEqual([{ name: "OffsetCommit", args: ["g", -1, "", null, topics] }]);
});

test("a commit for a group with members is rejected", async () => {
  const { brokers } = world([UNKNOWN_MEMBER]);
  await expect(commitOffsets(brokers, "g", "t", offsets)).rejects.toMatchObject({
    type: "UNKNOWN_MEMBER_ID",
  });
});

test("a group is deleted at its coordinator, and a missing one is as good as deleted", async () => {
  const { sent, brokers } = world([NOT_FOUND]);
  await deleteGroup(brokers, "g");
  expect(sent).toEqual([{ name: "DeleteGroups", args: [["g"]] }]);
});

test("a group with members is not deleted", async () => {
  const { brokers } = world([NOT_EMPTY]);
  await expect(deleteGroup(brokers, "g")).rejects.toMatchObject({ type: "NON_EMPTY_GROUP" });
});

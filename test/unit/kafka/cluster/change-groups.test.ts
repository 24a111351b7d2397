// Commits for groups, and the deletion of groups, with coordinators whose responses each test specifies.

import { expect, test } from "vitest";
import type { Brokers } from "../../../../src/kafka/cluster/brokers.ts";
import { commitOffsets, deleteGroup } from "../../../../src/kafka/cluster/change-topics.ts";

const NOT_EMPTY = 68;
const NOT_FOUND = 69;
const UNKNOWN_MEMBER = 25;

/** Creates coordinators that respond with `codes` in turn. */
function world(codes: readonly number[]) {
  const left = [...codes];
  const sent: { readonly name: string; readonly options: unknown }[] = [];
  const coordinator = {
    protocolOf: (name: string, options: object) => {
      sent.push({ name, options });
      return { request: {}, response: { decode: async () => undefined } };
    },
    connectionPool: {
      send: async () => {
        const errorCode = left.shift() ?? 0;
        return { results: [{ errorCode }], responses: [{ partitions: [{ errorCode }] }] };
      },
    },
  };
  const brokers = { coordinator: async () => coordinator };
  return { sent, brokers: brokers as unknown as Brokers };
}

const offsets = [{ partition: 0, offset: 5, metadata: "m" }];

test("a commit is sent to the coordinator", async () => {
  const { sent, brokers } = world([0]);
  await commitOffsets(brokers, "g", "t", offsets);
  const partitions = [{ partition: 0, offset: "5", metadata: "m" }];
  const topics = [{ topic: "t", partitions }];
  const options = { groupId: "g", groupGenerationId: -1, memberId: "", topics };
  expect(sent).toEqual([{ name: "OffsetCommit", options }]);
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
  expect(sent).toEqual([{ name: "DeleteGroups", options: ["g"] }]);
});

test("a group with members is not deleted", async () => {
  const { brokers } = world([NOT_EMPTY]);
  await expect(deleteGroup(brokers, "g")).rejects.toMatchObject({ type: "NON_EMPTY_GROUP" });
});

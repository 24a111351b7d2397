// The table of src/kafka/group/assignment.ts, and that kafkajs' own assigner has the same results.

import type { Cluster } from "kafkajs";
import { expect, test } from "vitest";

import {
  clientIdOf,
  encodeSubscription,
  PROTOCOL,
  readAssignment,
  shareOut,
} from "../../../../src/kafka/group/assignment.ts";
import { AssignerProtocol, PartitionAssigners } from "../../../../src/kafka/kafkajs/kafkajs.ts";

const UUID = "0b0f2c1e-6f0d-4b43-9d0b-3a0d7c0f6a51";
const TOPIC = "calls";

function memberIds(clientIds: readonly string[]): readonly string[] {
  return clientIds.map((clientId, index) => `${clientId}-${UUID.slice(0, -1)}${index}`);
}

function shared(...clientIds: readonly string[]) {
  const topics = new Map([[TOPIC, 3]]);
  const { assignments, foreign } = shareOut(memberIds(clientIds), "switchyard", topics);
  const given = assignments.map(({ memberId, memberAssignment }) => [
    clientIdOf(memberId),
    readAssignment(memberAssignment, [TOPIC])[TOPIC] ?? [],
  ]);
  return { given, foreign };
}

test.each([
  ["switchyard", "switchyard"],
  ["a-script", "a-script"],
  ["", ""],
])("the client ID %j is before the UUID", (clientId, found) => {
  expect(clientIdOf(`${clientId}-${UUID}`)).toBe(found);
});

test("processes share all partitions among them", () => {
  expect(shared("switchyard", "switchyard")).toEqual({
    given: [
      ["switchyard", [0, 2]],
      ["switchyard", [1]],
    ],
    foreign: [],
  });
});

test.each([["kafkajs"], ["switchyard-2"], ["Switchyard"], [""]])(
  "another program, %j, is given none, and is reported",
  (clientId) => {
    const { given, foreign } = shared(clientId, "switchyard", clientId);
    expect(given).toEqual([
      [clientId, []],
      ["switchyard", [0, 1, 2]],
      [clientId, []],
    ]);
    expect(foreign).toEqual([clientId, clientId]);
  },
);

test("topics that this member does not read are omitted, and an empty assignment is none", () => {
  const { MemberAssignment } = AssignerProtocol;
  const assignment = { [TOPIC]: [1], other: [0] };
  const bytes = MemberAssignment.encode({ version: 0, assignment, userData: Buffer.alloc(0) });
  expect(readAssignment(bytes, [TOPIC])).toEqual({ [TOPIC]: [1] });
  expect(readAssignment(Buffer.alloc(0), [TOPIC])).toEqual({});
});

test("the name, the subscription and the shares are those of kafkajs' own assigner", async () => {
  const counts = new Map([
    ["a", 3],
    ["b", 5],
  ]);
  const topics = [...counts.keys()];
  const cluster = {
    findTopicPartitionMetadata: (topic: string) =>
      Array.from({ length: counts.get(topic) ?? 0 }, (_, partitionId) => ({ partitionId })),
  } as unknown as Cluster;
  const config = { cluster } as Parameters<typeof PartitionAssigners.roundRobin>[0];
  const theirs = PartitionAssigners.roundRobin(config);
  expect(theirs.name).toBe(PROTOCOL);
  expect(encodeSubscription(topics).equals(theirs.protocol({ topics }).metadata)).toBe(true);
  const ids = memberIds(["switchyard", "switchyard", "switchyard"]).toReversed();
  const members = ids.map((memberId) => ({ memberId, memberMetadata: Buffer.alloc(0) }));
  const expected = await theirs.assign({ members, topics });
  const ours = shareOut(ids, "switchyard", counts).assignments;
  for (const { memberId, memberAssignment } of expected) {
    const own = ours.find((each) => each.memberId === memberId);
    expect(readAssignment(own?.memberAssignment ?? Buffer.alloc(0), topics)).toEqual(
      readAssignment(memberAssignment, topics),
    );
  }
});

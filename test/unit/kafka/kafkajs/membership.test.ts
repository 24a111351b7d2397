// The table of own-members.ts, around kafkajs' own assigner.

import type { Cluster } from "kafkajs";
import { expect, test } from "vitest";

import { AssignerProtocol, PartitionAssigners } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { clientIdOf, ownMembersOnly } from "../../../../src/kafka/kafkajs/membership.ts";

const UUID = "0b0f2c1e-6f0d-4b43-9d0b-3a0d7c0f6a51";
const TOPIC = "calls";

async function shared(...clientIds: readonly string[]) {
  const reported: (readonly string[])[] = [];
  const cluster = {
    findTopicPartitionMetadata: () => [0, 1, 2].map((partitionId) => ({ partitionId })),
  } as unknown as Cluster;
  const assigner = ownMembersOnly(PartitionAssigners.roundRobin, "switchyard", (ids) =>
    reported.push(ids),
  )({ cluster } as Parameters<typeof PartitionAssigners.roundRobin>[0]);
  const members = clientIds.map((clientId, index) => ({
    memberId: `${clientId}-${UUID.slice(0, -1)}${index}`,
    memberMetadata: Buffer.alloc(0),
  }));
  const assignments = await assigner.assign({ members, topics: [TOPIC] });
  const given = assignments.map(({ memberId, memberAssignment }) => [
    clientIdOf(memberId),
    AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment[TOPIC] ?? [],
  ]);
  return { reported, given, assigner };
}

test.each([
  ["switchyard", "switchyard"],
  ["a-script", "a-script"],
  ["", ""],
])("the client ID %j is before the UUID", (clientId, found) => {
  expect(clientIdOf(`${clientId}-${UUID}`)).toBe(found);
});

test("processes share all partitions among them", async () => {
  const { reported, given } = await shared("switchyard", "switchyard");
  expect(given).toEqual([
    ["switchyard", [0, 2]],
    ["switchyard", [1]],
  ]);
  expect(reported).toEqual([[]]);
});

test.each([["kafkajs"], ["switchyard-2"], ["Switchyard"], [""]])(
  "another program, %j, is given none, and is reported",
  async (clientId) => {
    const { reported, given } = await shared(clientId, "switchyard", clientId);
    expect(given).toEqual([
      ["switchyard", [0, 1, 2]],
      [clientId, []],
      [clientId, []],
    ]);
    expect(reported).toEqual([[clientId, clientId]]);
  },
);

test("the name and the protocol are those of kafkajs' own assigner", async () => {
  const { assigner } = await shared("switchyard");
  expect(assigner.name).toBe("RoundRobinAssigner");
  expect(assigner.protocol({ topics: [TOPIC] }).name).toBe("RoundRobinAssigner");
});

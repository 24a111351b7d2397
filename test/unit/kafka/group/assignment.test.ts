// The table of src/kafka/group/assignment.ts.

import { AssignerProtocol } from "kafkajs";
import { expect, test } from "vitest";
import {
  clientIdOf,
  encodeSubscription,
  readAssignment,
  readSubscription,
  shareOut,
} from "../../../../src/kafka/group/assignment.ts";

const UUID = "0b0f2c1e-6f0d-4b43-9d0b-3a0d7c0f6a51";
const TOPIC = "calls";

function memberIds(clientIds: readonly string[]): readonly string[] {
  return clientIds.map((clientId, index) => `${clientId}-${UUID.slice(0, -1)}${index}`);
}

function shared(...clientIds: readonly string[]) {
  const topics = new Map([[TOPIC, 3]]);
  const members = memberIds(clientIds).map((memberId) => ({ memberId, topics: [TOPIC] }));
  const { assignments, foreign } = shareOut(members, "switchyard", topics);
  const given = members.map(({ memberId }) => {
    const own = assignments.find((each) => each.memberId === memberId);
    const bytes = own?.assignment ?? Buffer.alloc(0);
    return [clientIdOf(memberId), readAssignment(bytes, [TOPIC])[TOPIC] ?? []];
  });
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

/** The partitions of each member, as "topic:partition". */
function dealt(
  subscriptions: readonly (readonly string[])[],
  counts: Readonly<Record<string, number>>,
): readonly (readonly string[])[] {
  const ids = memberIds(subscriptions.map(() => "switchyard"));
  const members = subscriptions.map((topics, at) => ({ memberId: ids[at] ?? "", topics }));
  const { assignments } = shareOut(members, "switchyard", new Map(Object.entries(counts)));
  return assignments.map(({ assignment }) =>
    Object.entries(readAssignment(assignment, Object.keys(counts))).flatMap(([topic, partitions]) =>
      partitions.map((partition) => `${topic}:${partition}`),
    ),
  );
}

test.each([
  ["one process reads each topic", [["a"], ["b"]], { a: 2, b: 2 }, [2, 2]],
  ["one process reads both topics", [["a", "b"], ["b"]], { a: 2, b: 2 }, [2, 2]],
  ["nobody reads a topic", [["a"], []], { a: 2, b: 2 }, [2, 0]],
  ["the leader cannot see a topic", [["a"], ["b"]], { a: 2, b: 0 }, [2, 0]],
  ["a process has joined to commit", [["a"], [], ["a"]], { a: 3 }, [2, 0, 1]],
])("%s", (_what, subscriptions, counts, expected) => {
  const found = dealt(subscriptions, counts);
  expect(found.map((own) => own.length)).toEqual(expected);
  for (const [at, own] of found.entries()) {
    for (const each of own) expect(subscriptions[at]).toContain(each.split(":")[0]);
  }
});

test("a subscription that cannot be read is an empty one", () => {
  expect(readSubscription(encodeSubscription(["a", "b"]))).toEqual(["a", "b"]);
  expect(readSubscription(Buffer.from("0001ffff", "hex"))).toEqual([]);
  expect(readSubscription(Buffer.alloc(0))).toEqual([]);
});

test("topics that this member does not read are omitted, and an empty assignment is none", () => {
  const { MemberAssignment } = AssignerProtocol;
  const assignment = { [TOPIC]: [1], other: [0] };
  const bytes = MemberAssignment.encode({ version: 0, assignment, userData: Buffer.alloc(0) });
  expect(readAssignment(bytes, [TOPIC])).toEqual({ [TOPIC]: [1] });
  expect(readAssignment(Buffer.alloc(0), [TOPIC])).toEqual({});
});

// With a negative length, a list of any count would be read from the same few bytes.
test("what a foreign member writes never claims more than its bytes", () => {
  const count = "000003e8";
  expect(readSubscription(Buffer.from(`0000${count}fffe`, "hex"))).toEqual([]);
  // A topic without a name and without partitions, and one whose negative length leads back to itself.
  const assignment = Buffer.from(`0000${count}000000000000fffa`, "hex");
  expect(() => readAssignment(assignment, [TOPIC])).toThrow(RangeError);
});

// The table of foreign-members.ts.

import { expect, test } from "vitest";

import { ForeignMembers } from "../../../../src/kafka/consume/consumer.ts";

function world() {
  const logged: (readonly string[])[] = [];
  const time = { nowMs: 0 };
  const members = new ForeignMembers(
    () => time.nowMs,
    (clientIds) => logged.push(clientIds),
  );
  return { members, logged, time };
}

test("a group of Switchyard alone shows and logs nothing", () => {
  const { members, logged } = world();
  members.joined([]);
  members.joined([]);
  expect(members.now()).toEqual([]);
  expect(logged).toEqual([]);
});

test("one that stays is shown as long as it does, and is logged once without rebalances", () => {
  const { members, logged, time } = world();
  members.joined(["script"]);
  time.nowMs = 3_600_000;
  expect(members.now()).toEqual(["script"]);
  expect(logged).toEqual([["script"]]);
});

test("one that comes and goes is shown for 2 minutes more, and logged once a minute", () => {
  const { members, logged, time } = world();
  for (; time.nowMs < 125_000; time.nowMs += 5_000) {
    members.joined(["script"]);
    members.joined([]);
  }
  expect(logged).toHaveLength(3);
  time.nowMs += 114_000;
  expect(members.now()).toEqual(["script"]);
  time.nowMs += 6_000;
  expect(members.now()).toEqual([]);
});

test("it counts from when one left, not from when it came", () => {
  const { members, time } = world();
  members.joined(["script"]);
  time.nowMs = 600_000;
  members.joined([]);
  time.nowMs += 119_000;
  expect(members.now()).toEqual(["script"]);
});

test("another one is logged at once, and two of one name are one", () => {
  const { members, logged, time } = world();
  members.joined(["b", "b"]);
  time.nowMs = 1_000;
  members.joined(["b", "a"]);
  expect(logged).toEqual([["b"], ["a", "b"]]);
  expect(members.now()).toEqual(["a", "b"]);
});

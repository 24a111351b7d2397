// The laws of Kafka's consumer scenarios: each must be able to fail.

import { expect, test } from "vitest";

import { judge, type Line, type Place } from "../../chaos/consumer-laws.ts";

const NAMES = { "+": "partitions_assigned", "-": "partitions_revoked", ":": "records_consumed" };

/** Reads `1+ fault 1:0-9 1stopping`: the member, what happened, and offsets of partition 0. The time is the position. */
function read(text: string): Line[] {
  return text.split(" ").map((word, atMs) => {
    const [, member, what = "", min, max] = /^(\d?)(\D+)(\d*)-?(\d*)$/.exec(word) ?? [];
    const [minOffset, maxOffset] = [Number(min), Number(max)];
    const line = { name: (NAMES as Record<string, string>)[what] ?? what, member: Number(member) };
    if (line.name === what) return { ...line, atMs };
    const count = what === ":" ? maxOffset - minOffset + 1 : 0;
    return { ...line, atMs, count, partitions: [{ partition: 0, minOffset, maxOffset }] };
  });
}

const places = (...offsets: readonly number[]): Place[] => offsets.map((offset) => [0, offset]);
const GOOD = "1+ fault 1:0-3 1:4-9";

test.each<[law: string, text: string, commits?: readonly number[]]>([
  ["", GOOD, [4, 4, 10]],
  ["lost-write", "1+ fault 1:4-9"],
  ["unseen", "1+ fault 1:0-8"],
  ["duplicate", `${GOOD} 2:9-9`],
  ["duplicate", `${GOOD} 2:9-9 2crashed`],
  ["", `${GOOD} 2:9-9 1crashed`],
  ["poll-skip", `${GOOD} 1:11-12`],
  ["nonmonotonic-poll", `${GOOD} 1crashed 1:9-9`],
  ["", `${GOOD} 1crashed 1+ 1:9-9`],
  ["stale-commit", GOOD, [4, 3, 10]],
  ["uncommitted", GOOD, [4, 9]],
  ["uncommitted", GOOD, []],
  ["rebalance", `${GOOD} 1-`],
  ["", `${GOOD} 1stopping 1-`],
])("breaks the law %j: %s, with commits of %j", (law, text, commits) => {
  const committed = commits === undefined ? null : places(...commits);
  const { broken } = judge(read(text), places(0, 9), committed, true);
  expect([...broken.keys()].join()).toBe(law);
});

test("a hole in a batch breaks poll-skip", () => {
  const lines = read(GOOD).map((line) => ({ ...line, count: 4 }));
  expect([...judge(lines, []).broken.keys()]).toEqual(["poll-skip"]);
});

test("the time without an owner ends when all partitions have one", () => {
  expect(judge(read(`${GOOD} 1stopping 1exited 2+`), []).unownedMs).toBe(2);
});

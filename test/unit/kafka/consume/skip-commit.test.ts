// A commit that passes a batch keeps what is finished above it.

import { expect, test } from "vitest";

import { decodeRanges, encodeRanges } from "../../../../src/kafka/consume/finished-ranges.ts";
import { passedCommit } from "../../../../src/kafka/consume/skip-commit.ts";

test.each([
  // Unfinished 10 to 14, finished 15 to 17, unfinished 18 and 19, finished 20.
  ["into the unfinished records", 12, 12, [3, 3, 2, 1]],
  ["to the finished ones", 15, 18, [2, 1]],
  ["into the finished ones", 16, 18, [2, 1]],
  ["behind all", 30, 30, []],
])("%s", (_what, behind, offset, ranges) => {
  const metadata = encodeRanges(10, "topic-id", [5, 3, 2, 1]);
  const passed = passedCommit({ partition: 3, offset: 10, metadata }, behind);
  expect(passed).toMatchObject({ partition: 3, offset });
  expect(decodeRanges(passed.metadata, offset, "topic-id")).toEqual(ranges);
});

test("the topic's id alone goes on with the commit", () => {
  const passed = passedCommit({ partition: 0, offset: 10, metadata: "sw1:10:topic-id:" }, 12);
  expect(passed).toEqual({ partition: 0, offset: 12, metadata: "sw1:12:topic-id:" });
});

test.each(["", "somebody else's", "sw1:9:topic-id:FD"])("metadata %j says nothing", (metadata) => {
  expect(passedCommit({ partition: 0, offset: 10, metadata }, 12)).toEqual({
    ...{ partition: 0, offset: 12, metadata: "" },
  });
});

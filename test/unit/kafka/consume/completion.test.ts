// The tables of src/kafka/consume/completion.ts and src/kafka/consume/finished-ranges.ts, row by row.

import { expect, test } from "vitest";
import { Completion, passedCommit } from "../../../../src/kafka/consume/completion.ts";
import { decodeRanges, encodeRanges } from "../../../../src/kafka/consume/finished-ranges.ts";

const topicId = "Zm9vYmFyYmF6cXV4MTIzNA";

function begin(offset: number, metadata: string | null = null, recordsMax = 10): Completion {
  return new Completion({ offset, metadata, topicId, recordsMax });
}

function takeAll(completion: Completion, offsets: readonly number[]): string[] {
  return offsets.map((offset) => completion.take(offset, offset * 10, 1));
}

test("nothing taken: the position is where reading begins", () => {
  const completion = begin(42);
  expect(completion.position).toBe(42);
  expect(completion.inFlight).toBe(0);
  expect(completion.oldestUnfinishedMs).toBe(null);
  expect(completion.metadata()).toBe(`sw1:42:${topicId}:`);
});

test("the position is the first unfinished record, whatever is finished above it", () => {
  const completion = begin(0);
  takeAll(completion, [0, 1, 2, 3]);
  completion.finish(2);
  completion.finish(1);
  expect(completion.position).toBe(0);
  expect(completion.oldestUnfinishedMs).toBe(0);
  completion.finish(0);
  expect(completion.position).toBe(3);
  expect(completion.oldestUnfinishedMs).toBe(30);
  expect(completion.inFlight).toBe(1);
});

test("everything finished: the position is after the last record taken, skipped or passed", () => {
  const completion = begin(0);
  takeAll(completion, [0, 5]);
  completion.finish(5);
  completion.finish(0);
  expect(completion.position).toBe(6);
  completion.passTo(9);
  expect(completion.position).toBe(9);
});

test("finishing gives the record's bytes back, once", () => {
  const completion = begin(0);
  completion.take(0, 0, 100);
  completion.take(1, 0, 50);
  expect(completion.inFlightBytes).toBe(150);
  expect(completion.finish(1)).toBe(50);
  expect(completion.finish(1)).toBe(null);
  expect(completion.finish(7)).toBe(null);
  expect(completion.inFlightBytes).toBe(100);
});

test("a full hand takes nothing more until a record is finished", () => {
  const completion = begin(0, null, 2);
  expect(takeAll(completion, [0, 1, 2])).toEqual(["taken", "taken", "full"]);
  expect(completion.hasRoom).toBe(false);
  completion.finish(1);
  expect(completion.hasRoom).toBe(true);
  expect(completion.take(2, 20, 1)).toBe("taken");
});

test("a record below those taken is skipped", () => {
  const completion = begin(5);
  expect(takeAll(completion, [4, 5, 5])).toEqual(["skipped", "taken", "skipped"]);
});

test("finished records above the position are skipped after a restart, and stay in the metadata", () => {
  const before = begin(10);
  takeAll(before, [10, 11, 12, 13, 14]);
  for (const offset of [11, 12, 14]) before.finish(offset);
  const metadata = before.metadata();
  expect(metadata).toBe(`sw1:10:${topicId}:BCBB`);

  const after = begin(before.position, metadata);
  expect(after.metadata()).toBe(metadata);
  after.take(10, 0, 1);
  expect(after.metadata()).toBe(metadata);
  expect(takeAll(after, [11, 12, 13, 14, 15])).toEqual([
    "skipped",
    "skipped",
    "taken",
    "skipped",
    "taken",
  ]);
  after.finish(10);
  expect(after.metadata()).toBe(`sw1:13:${topicId}:BB`);
});

test("a record that never finishes costs no memory for those that overtake it", () => {
  const completion = begin(0, null, 4);
  let finished = 0;
  for (let offset = 0; offset < 1_000_000; offset += 1) {
    completion.take(offset, 0, 1);
    if (offset > 0) finished += completion.finish(offset) ?? 0;
  }
  expect(finished).toBe(999_999);
  expect(completion.position).toBe(0);
  expect(decodeRanges(completion.metadata(), 0, topicId)).toEqual([1, 999_999]);
});

test("lengths are written in as many characters as they need", () => {
  const ranges = [1, 31, 32, 1_024, 2 ** 52];
  const metadata = encodeRanges(7, topicId, [...ranges, 5]);
  expect(metadata).toBe(`sw1:7:${topicId}:BfgBggBggggggggggEF`);
  expect(decodeRanges(metadata, 7, topicId)).toEqual([...ranges, 5]);
});

test("an unfinished range at the end is omitted", () => {
  expect(encodeRanges(7, topicId, [1, 2, 3])).toBe(`sw1:7:${topicId}:BC`);
  expect(encodeRanges(7, topicId, [3])).toBe(`sw1:7:${topicId}:`);
  // Brokers before 2.8 have no topic IDs.
  expect(encodeRanges(7, "", [3])).toBe("");
});

test.each([
  ["absent", null],
  ["empty", ""],
  ["another tool's", "committed by hand"],
  ["of another version", `sw2:7:${topicId}:BB`],
  ["of another offset", `sw1:8:${topicId}:BB`],
  ["of another incarnation of the topic", "sw1:7:AAAAAAAAAAAAAAAAAAAAAA:BB"],
  ["without a finished range", `sw1:7:${topicId}:B`],
  ["cut within a length", `sw1:7:${topicId}:Bg`],
  ["with an empty range", `sw1:7:${topicId}:AB`],
  ["with a length written too long", `sw1:7:${topicId}:BgA`],
  ["with a character that is no digit", `sw1:7:${topicId}:B+`],
  ["beyond the offsets there are", `sw1:7:${topicId}:B${"_".repeat(11)}B`],
  ["too long", `sw1:7:${topicId}:${"B".repeat(3_000)}`],
])("metadata that is %s says nothing", (_what, metadata) => {
  expect(decodeRanges(metadata, 7, topicId)).toEqual([]);
});

test("what was finished before the restart is skipped although the unfinished record before it is gone", () => {
  const before = begin(0);
  takeAll(before, [0, 1, 2, 3]);
  for (const offset of [1, 2]) before.finish(offset);
  const completion = begin(0, before.metadata());
  // Compaction or retention has removed record 0.
  expect(takeAll(completion, [1, 2, 3])).toEqual(["skipped", "skipped", "taken"]);
});

// A commit after a skipped batch still lists the finished records above it.

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

test("the topic's id alone continues with the commit", () => {
  const passed = passedCommit({ partition: 0, offset: 10, metadata: "sw1:10:topic-id:" }, 12);
  expect(passed).toEqual({ partition: 0, offset: 12, metadata: "sw1:12:topic-id:" });
});

test.each(["", "somebody else's", "sw1:9:topic-id:FD"])("metadata %j says nothing", (metadata) => {
  expect(passedCommit({ partition: 0, offset: 10, metadata }, 12)).toEqual({
    ...{ partition: 0, offset: 12, metadata: "" },
  });
});

// Which end and which position of a partition are shown: a test for each row of the table in log-ends.ts.

import { expect, test } from "vitest";

import { LogEnds } from "../../../../src/kafka/cluster/log-ends.ts";

const PROGRESS = { topic: "t", partition: 1, position: 5, next: 7, end: 7, endAtMs: 1_000 };
const progress = { ...PROGRESS, inFlight: 2, oldestUnfinishedMs: 900 };

test.each([
  ["nothing else", null, progress],
  ["a look after the fetch", { end: 20, atMs: 1_001 }, { ...progress, end: 20, endAtMs: 1_001 }],
  ["a look before the fetch", { end: 6, atMs: 999 }, progress],
  [
    "a look that is behind the position",
    { end: 3, atMs: 1_001 },
    { ...progress, end: 5, endAtMs: 1_001 },
  ],
])("after %s", (_what, heard, seen) => {
  const ends = new LogEnds();
  ends.setEnd("t", 2, { end: 99, atMs: 9_999 });
  if (heard !== null) ends.setEnd("t", 1, heard);
  expect(ends.withLatest(progress)).toEqual(seen);
});

test("nothing was fetched yet: the look alone counts", () => {
  const ends = new LogEnds();
  ends.setEnd("t", 1, { end: 9, atMs: 5 });
  expect(ends.withLatest({ ...progress, end: 5, endAtMs: null })).toMatchObject({
    end: 9,
    endAtMs: 5,
  });
});

test("what lies before the log's beginning does not wait", () => {
  const ends = new LogEnds();
  ends.setFirst("t", 1, 6);
  expect(ends.withLatest({ ...progress, position: 0 })).toMatchObject({ position: 6, end: 7 });
  expect(ends.withLatest({ ...progress, position: 7 })).toMatchObject({ position: 7, end: 7 });
});

test("the beginning of a log does not apply to the shorter log of a recreated topic", () => {
  const ends = new LogEnds();
  ends.setEnd("t", 1, { end: 9, atMs: 2_000 });
  ends.setFirst("t", 1, 6);
  ends.setEnd("t", 1, { end: 0, atMs: 3_000 });
  const unread = { ...progress, position: 0, end: 0 };
  expect(ends.withLatest(unread)).toMatchObject({ position: 0, end: 0 });
});

test("the beginning of a log is needed only for partitions that were not read and are not empty", () => {
  const ends = new LogEnds();
  const needs = (partition: number, position = 0) =>
    ends.needsFirst({ topic: "t", partition, position });
  ends.setEnd("t", 0, { end: 0, atMs: 2_000 });
  ends.setEnd("t", 1, { end: 9, atMs: 2_000 });
  expect([needs(0), needs(1), needs(1, 4), needs(2)]).toEqual([false, true, false, true]);
  ends.setFirst("t", 1, 6);
  expect(needs(1)).toBe(false);
});

test("a partition that is owned no longer is forgotten", () => {
  const ends = new LogEnds();
  ends.setEnd("t", 1, { end: 20, atMs: 2_000 });
  ends.setFirst("t", 1, 6);
  ends.keep([{ topic: "t", partition: 1 }]);
  expect(ends.withLatest(progress).end).toBe(20);
  ends.keep([{ topic: "t", partition: 2 }]);
  expect(ends.withLatest(progress)).toEqual(progress);
});

test("of one topic some partitions are kept, and others forgotten", () => {
  const ends = new LogEnds();
  ends.setEnd("t", 0, { end: 10, atMs: 2_000 });
  ends.setEnd("t", 1, { end: 20, atMs: 2_000 });
  ends.keep([{ topic: "t", partition: 1 }]);
  expect(ends.withLatest({ ...progress, partition: 0 }).end).toBe(7);
  expect(ends.withLatest(progress).end).toBe(20);
  ends.setEnd("t", 0, { end: 11, atMs: 3_000 });
  ends.keep([0, 1].map((partition) => ({ topic: "t", partition })));
  expect(ends.withLatest({ ...progress, partition: 0 }).end).toBe(11);
});

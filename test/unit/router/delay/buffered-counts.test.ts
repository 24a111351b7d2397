// The table of buffered-counts.ts.

import { expect, test } from "vitest";
import { UnreadRecords } from "../../../../src/router/delay/buffered-counts.ts";
import { NEVER, type Tallies, type Times } from "../../../../src/router/delay/tally.ts";

function at(atMs: number, firstAttemptAtMs = NEVER): Times {
  return { scheduledAtMs: atMs, dueAtMs: atMs + 100, firstAttemptAtMs };
}

function sum(unread: UnreadRecords): Tallies {
  const tallies: Tallies = new Map();
  unread.addTo(tallies);
  return tallies;
}

function counts(unread: UnreadRecords): Record<string, number> {
  return Object.fromEntries([...sum(unread)].map(([label, { count }]) => [label, count]));
}

/** Adds records of `a` and `b` in turn, scheduled at the times of their offsets. */
function filled(records: number, entriesMax = Number.POSITIVE_INFINITY): UnreadRecords {
  const unread = new UnreadRecords(() => entriesMax);
  for (let offset = 0; offset < records; offset += 1) {
    unread.add(offset, offset % 2 === 0 ? "a" : "b", at(offset));
  }
  return unread;
}

test("records that are read ahead count, with the earliest times", () => {
  const unread = new UnreadRecords(() => 10);
  unread.add(7, "a", at(50));
  unread.add(9, "a", at(40, 3));
  unread.add(10, "b", at(60));
  expect(sum(unread)).toEqual(
    new Map([
      ["a", { count: 2, scheduledAtMs: 40, dueAtMs: 140, firstAttemptAtMs: 3 }],
      ["b", { count: 1, scheduledAtMs: 60, dueAtMs: 160, firstAttemptAtMs: NEVER }],
    ]),
  );
});

test("a record that the consumer takes counts no more, and nothing behind it is earlier", () => {
  const unread = filled(10);
  for (let offset = 0; offset < 3; offset += 1) {
    unread.took(offset, [offset % 2 === 0 ? "a" : "b"], at(offset));
  }
  expect(counts(unread)).toEqual({ a: 3, b: 4 });
  expect(sum(unread).get("a")?.scheduledAtMs).toBe(2);
  expect(sum(unread).get("b")?.dueAtMs).toBe(102);
});

test("a destination that has nothing left in a block is gone from it", () => {
  const unread = new UnreadRecords(() => 10);
  unread.add(0, "a", at(0));
  unread.add(1, "b", at(1));
  unread.took(0, ["a"], at(0));
  expect(counts(unread)).toEqual({ b: 1 });
});

test("a record is taken under the name that it was added with", () => {
  const unread = new UnreadRecords(() => 10);
  unread.add(0, "", at(0));
  unread.add(1, "a", at(1));
  unread.took(0, ["c", ""], at(0));
  unread.took(1, ["a", ""], at(1));
  expect(counts(unread)).toEqual({});
});

test("blocks below an offset that is passed go, and a block that it is in stays whole", () => {
  const unread = filled(130);
  unread.passTo(70);
  expect(counts(unread)).toEqual({ a: 33, b: 33 });
  unread.passTo(129);
  expect(counts(unread)).toEqual({ a: 1, b: 1 });
  unread.passTo(130);
  expect(counts(unread)).toEqual({});
});

test("records that were taken before they were read ahead change nothing", () => {
  const unread = new UnreadRecords(() => 10);
  unread.add(5, "a", at(5));
  unread.took(4, ["a"], at(4));
  expect(sum(unread).get("a")).toMatchObject({ count: 1, scheduledAtMs: 5 });
});

test("millions of records take few entries, and count on one by one", () => {
  const records = 300_000;
  const unread = filled(records, 200);
  expect(counts(unread)).toEqual({ a: records / 2, b: records / 2 });
  expect(unread.entries).toBeLessThanOrEqual(200);
  for (let offset = 0; offset < records - 3; offset += 1) {
    unread.took(offset, [offset % 2 === 0 ? "a" : "b"], at(offset));
  }
  expect(counts(unread)).toEqual({ a: 1, b: 2 });
  expect(sum(unread).get("b")?.scheduledAtMs).toBeLessThanOrEqual(records - 3);
  expect(sum(unread).get("b")?.scheduledAtMs).toBeGreaterThanOrEqual(records - 4);
});

test("more destinations than entries leave two blocks: the older one goes in the end", () => {
  const unread = new UnreadRecords(() => 3);
  for (let offset = 0; offset < 1_000; offset += 1) {
    unread.add(offset, `d${offset % 10}`, at(offset, offset));
  }
  expect(unread.entries).toBeLessThanOrEqual(20);
  for (let offset = 0; offset < 900; offset += 1) {
    unread.took(offset, [`d${offset % 10}`], at(offset, offset));
  }
  expect(counts(unread)).toMatchObject({ d0: 10, d9: 10 });
  // The first attempts of the older block are dropped with it.
  expect(sum(unread).get("d0")?.firstAttemptAtMs).toBeGreaterThan(0);
});

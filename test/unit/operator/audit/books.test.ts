import { describe, expect, test } from "vitest";
import { groupNames } from "../../../../src/domain/topics.ts";
import type { Processed } from "../../../../src/kafka/port.ts";
import {
  type BookedPartition,
  Books,
  type OwnerChange,
} from "../../../../src/operator/audit/books.ts";
import { identityOf, Tallies } from "../../../../src/router/ledger/tallies.ts";

const groups = groupNames("");
const bins = { first: 10, end: 12 };
const place = { topic: "calls", partition: 0, topicId: "id" };

interface Written {
  readonly process: string;
  readonly ranges: Processed["ranges"];
  readonly start?: Processed["start"];
  readonly isLast?: boolean;
}

function emptyBooks(): Books {
  return new Books(groups, bins, () => undefined);
}

function booksOf(...records: readonly Written[]): Books {
  const books = emptyBooks();
  for (const [at, { process, ranges, start, isLast = false }] of records.entries()) {
    const read = [{ ...place, ranges, ...(start === undefined ? {} : { start }) }];
    const whole = { group: "route", process, number: at, read, isLast, tallies: new Tallies() };
    books.add(whole, at * 1_000);
  }
  return books;
}

/** A ledger record about a call that was received ten minutes after the first one. */
function lateRecord(process: string, start: number) {
  const tallies = new Tallies();
  tallies.add("crm", "in", { ...identityOf("m", 0), bin: 1 });
  const read = [{ ...place, ranges: [[start, start + 2]] as const, start: ours(start) }];
  return { group: "route", process, number: 0, read, isLast: false, tallies };
}

function partitionOf(...records: readonly Written[]): BookedPartition {
  const found = booksOf(...records).partitionOf(place, "id");
  if (found === null) throw new Error("the partition is not in the books");
  return found;
}

function changesOf(...records: readonly Written[]): readonly Omit<OwnerChange, "group">[] {
  return booksOf(...records)
    .changes()
    .map(({ group: _, ...change }) => change);
}

const ours = (offset: number) => ({ offset, isOurs: true });
const foreign = (offset: number) => ({ offset, isOurs: false });

describe("a ledger record of a partition", () => {
  test("covers offsets that another one covers: they were processed twice", () => {
    const records: readonly Written[] = [
      { process: "a", ranges: [[0, 10]], start: ours(0) },
      { process: "b", ranges: [[5, 12]], start: ours(5) },
    ];
    expect(partitionOf(...records).repeats).toEqual([[5, 10]]);
    expect(changesOf(...records)).toEqual([{ fromMs: 0, toMs: 1_000, isCrash: true }]);
  });
  test("comes from another owner, and the earlier one said that it ends: nothing crashed", () => {
    const changes = changesOf(
      { process: "a", ranges: [[0, 10]], start: ours(0) },
      { process: "a", ranges: [], isLast: true },
      { process: "b", ranges: [[10, 12]], start: ours(10) },
    );
    expect(changes).toEqual([{ fromMs: 1_000, toMs: 61_000, isCrash: false }]);
  });
  test("comes long after the end of the earlier owner: another one may have crashed between the two", () => {
    const books = booksOf(
      { process: "a", ranges: [[0, 10]], start: ours(0) },
      { process: "a", ranges: [], isLast: true },
    );
    books.add(lateRecord("b", 10), 900_000);
    expect(books.changes()).toEqual([
      { group: "route", fromMs: 1_000, toMs: 61_000, isCrash: false },
      { group: "route", fromMs: 600_000, toMs: 899_999, isCrash: false },
    ]);
  });
  test("begins another tenure of the same process, which did not say that it ends", () => {
    const changes = changesOf(
      { process: "a", ranges: [[0, 10]], start: ours(0) },
      { process: "a", ranges: [[10, 12]], start: ours(10) },
    );
    expect(changes).toEqual([{ fromMs: 0, toMs: 1_000, isCrash: true }]);
  });
  test("starts above the end, where another program committed: an operator moved the offset", () => {
    const { moved } = partitionOf(
      { process: "a", ranges: [[0, 10]], start: ours(0) },
      { process: "a", ranges: [], isLast: true },
      { process: "b", ranges: [[20, 22]], start: foreign(20) },
    );
    expect(moved).toEqual([[10, 20]]);
  });
  test("starts above the end, otherwise: the offsets between are unknown", () => {
    const { moved, coverage } = partitionOf(
      { process: "a", ranges: [[0, 10]], start: ours(0) },
      { process: "b", ranges: [[20, 22]], start: ours(20) },
    );
    expect(moved).toEqual([]);
    expect(coverage.holes([0, 25])).toEqual([
      [10, 20],
      [22, 25],
    ]);
  });
  test("is the first one: an owner may have crashed before it wrote one, since the first call was received", () => {
    const books = emptyBooks();
    books.add(lateRecord("a", 0), 900_000);
    expect(books.changes()).toEqual([
      { group: "route", fromMs: 600_000, toMs: 899_999, isCrash: false },
    ]);
  });
  test("is about another incarnation of the topic: its offsets are others", () => {
    const books = booksOf({ process: "a", ranges: [[0, 10]], start: ours(0) });
    expect(books.partitionOf(place, "other")).toBeNull();
  });
});

describe("a ledger record of a replay", () => {
  function replayBooks(...records: readonly [process: string, atMs: number, isLast?: boolean][]) {
    const books = emptyBooks();
    for (const [number, [process, atMs, isLast = false]] of records.entries()) {
      const record = { group: "replay.r", process, number, read: [], isLast };
      books.add({ ...record, tallies: new Tallies() }, atMs);
    }
    return books;
  }
  const change = (fromMs: number, toMs: number, isCrash: boolean) => {
    return { group: "replay.r", fromMs, toMs, isCrash };
  };

  test("is the last one: the replay has ended", () => {
    expect(replayBooks(["a", 0], ["a", 10], ["a", 20, true]).changes()).toEqual([]);
  });
  test("comes from another process, and the earlier one did not say that it ends: it crashed", () => {
    const books = replayBooks(["a", 0], ["a", 10], ["b", 500], ["b", 600, true]);
    expect(books.changes()).toEqual([change(10, 500, true)]);
    expect(books.openReplays()).toEqual([]);
  });
  test("comes from another process a day later: the earlier one did not write that long", () => {
    const books = replayBooks(["a", 0], ["b", 86_400_000], ["b", 86_400_001, true]);
    expect(books.changes()).toEqual([change(0, 600_000, true)]);
  });
  test("is the newest, and does not say that the replay ends: it may be writing", () => {
    const books = replayBooks(["a", 0], ["a", 10]);
    expect(books.changes()).toEqual([change(10, 600_010, false)]);
    expect(books.openReplays()).toEqual(books.changes());
  });
});

test("sums are those of writers, and only those of the audited bins", () => {
  const sums: unknown[] = [];
  const books = new Books(groups, bins, ({ sum, ...booked }) => {
    sums.push({ ...booked, count: sum.count });
  });
  for (const [at, group] of ["route", "deliver.crm", "route", "somebody"].entries()) {
    const tallies = new Tallies();
    for (const bin of [9, 10, 12]) tallies.add("crm", "in", { ...identityOf("m", 0), bin });
    books.add({ group, process: "a", number: at, read: [], isLast: false, tallies }, at);
  }
  const booked = { bin: 10, destination: "crm", outcome: "in", count: 1 };
  expect(sums).toEqual([
    { writer: "route", ...booked, atMs: 0 },
    { writer: "deliver", ...booked, atMs: 1 },
    { writer: "route", ...booked, atMs: 2 },
  ]);
});

test("the first ledger record is that by time, although partitions are read in parallel", () => {
  const books = emptyBooks();
  expect(books.firstMs).toBe(Number.POSITIVE_INFINITY);
  for (const [number, atMs] of [5, 2, 7, 3].entries()) {
    const tallies = new Tallies();
    books.add({ group: "route", process: "a", number, read: [], isLast: false, tallies }, atMs);
  }
  expect(books.firstMs).toBe(2);
});

// When a fetch loop may ask its broker again.

import { expect, test } from "vitest";

import { FetchPace, FetchStreams } from "../../src/kafka/fetch-pace.ts";

const SOME = { records: 5, isBehind: false };

/** Loops of as many consumers, each of which has just fetched something at once. */
function streaming(count: number, streams = new FetchStreams()) {
  const paces = Array.from({ length: count }, () => new FetchPace(streams));
  for (const pace of paces) fetched(pace, 1_000, 1_002, SOME);
  return { streams, paces };
}

function fetched(
  pace: FetchPace,
  fromMs: number,
  toMs: number,
  { records, isBehind }: { readonly records: number; readonly isBehind: boolean },
): void {
  pace.begins("1", fromMs);
  pace.ended("1", records, isBehind, toMs);
}

test("the first fetch waits for nothing", () => {
  expect(new FetchPace(new FetchStreams()).waitMs("1", 0)).toBe(0);
});

test.each([
  [0, 10],
  [4, 6],
  [9.5, 0.5],
  [10, 0],
  [5_000, 0],
])("%d ms after one began, the next waits for %d ms", (elapsedMs, expected) => {
  const pace = new FetchPace(new FetchStreams());
  pace.begins("1", 1_000);
  expect(pace.waitMs("1", 1_000 + elapsedMs)).toBe(expected);
});

test("where a longer spacing is asked for, it holds as long as nothing is left behind", () => {
  const pace = new FetchPace(new FetchStreams(), 100);
  fetched(pace, 1_000, 1_002, { records: 5, isBehind: false });
  expect(pace.waitMs("1", 1_030)).toBe(70);
  fetched(pace, 1_000, 1_002, { records: 5, isBehind: true });
  expect(pace.waitMs("1", 1_004)).toBe(6);
  expect(pace.waitMs("1", 1_030)).toBe(0);
});

test.each([
  [1, 10],
  [11, 10],
  [16, 12],
  [100, 30],
  [900, 90],
])("with %d loops that records stream into, each fetches every %d ms", (count, expected) => {
  const { paces } = streaming(count);
  for (const pace of paces) expect(pace.waitMs("1", 1_000)).toBe(expected);
});

test("loops that got nothing, or had to wait for it, do not count", () => {
  const { streams, paces } = streaming(16);
  const other = new FetchPace(streams);
  fetched(other, 1_000, 1_002, { records: 0, isBehind: false });
  expect(other.waitMs("1", 1_000)).toBe(12);
  for (const pace of paces.slice(4)) fetched(pace, 1_000, 1_100, SOME);
  expect(other.waitMs("1", 1_000)).toBe(10);
});

test("the loops of a consumer that is closed do not count any more", () => {
  const { streams, paces } = streaming(10);
  for (const pace of paces) pace.close();
  expect(streams.spacingMs).toBe(0);
});

test("the loops of other brokers keep their own time", () => {
  const pace = new FetchPace(new FetchStreams());
  pace.begins("1", 1_000);
  expect(pace.waitMs("2", 1_000)).toBe(0);
});

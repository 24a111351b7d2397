// The tables of slot-scheduler.ts, row by row.

import { expect, test } from "vitest";

import { SlotScheduler } from "../../../../src/router/deliver/slot-scheduler.ts";

const NOW_MS = 1_000;

/** Returns the scheduler for a slow endpoint, whose attempt took five seconds. */
function slow(concurrency: number): SlotScheduler {
  const turns = new SlotScheduler(concurrency);
  turns.started("queue");
  turns.ended("queue", 5_000);
  return turns;
}

function placesForQueue(turns: SlotScheduler, nowMs: number): number {
  let queued = 0;
  for (; turns.hasPlaceForQueue(nowMs); queued += 1) turns.started("queue");
  for (let ended = 0; ended < queued; ended += 1) turns.ended("queue", 5_000);
  return queued;
}

const DUE_MS = 10_000;
test.each([
  ["a second before a retry is due", DUE_MS - 1_000, 14],
  ["when it is due", DUE_MS, 14],
  ["until a second later", DUE_MS + 999, 14],
  ["after that", DUE_MS + 1_000, 16],
  ["before", DUE_MS - 1_001, 16],
])("the queue leaves an eighth of the places free %s", (_when, nowMs, places) => {
  const turns = slow(16);
  turns.expectRetry(DUE_MS);
  expect(placesForQueue(turns, nowMs)).toBe(places);
});

test("retries that are due in any order are expected at their times, and not between", () => {
  const turns = slow(16);
  for (const dueAtMs of [60_000, 10_000, 30_000, 11_500, 10_500]) turns.expectRetry(dueAtMs);
  const expected = [9_000, 12_400, 29_000, 30_999, 59_500].map((ms) => placesForQueue(turns, ms));
  expect(expected).toEqual([14, 14, 14, 14, 14]);
  const others = slow(16);
  for (const dueAtMs of [60_000, 10_000, 30_000, 11_500, 10_500]) others.expectRetry(dueAtMs);
  const between = [8_999, 12_500, 28_999, 31_000, 61_000].map((ms) => placesForQueue(others, ms));
  expect(between).toEqual([16, 16, 16, 16, 16]);
});

test("of very many times the last ones are joined, so that none is forgotten", () => {
  const turns = slow(16);
  for (let at = 0; at < 1_000; at += 1) turns.expectRetry(at * 10_000);
  for (let at = 0; at < 1_000; at += 1) {
    expect(placesForQueue(turns, at * 10_000)).toBe(14);
  }
});

test.each([
  [249, 16],
  [250, 14],
])("an endpoint whose attempts take %i ms leaves the queue %i of 16 places", (tookMs, places) => {
  const turns = new SlotScheduler(16);
  turns.expectRetry(DUE_MS);
  turns.started("queue");
  turns.ended("queue", tookMs);
  expect(placesForQueue(turns, DUE_MS)).toBe(places);
});

test.each([
  [1, 0],
  [2, 1],
  [8, 1],
  [64, 8],
])("of %i places %i are kept free", (concurrency, kept) => {
  const turns = slow(concurrency);
  turns.expectRetry(NOW_MS);
  expect(placesForQueue(turns, NOW_MS)).toBe(concurrency - kept);
});

test("they are free for more retries, until these have half of the places", () => {
  const turns = slow(8);
  turns.expectRetry(NOW_MS);
  for (let count = 0; count < 3; count += 1) turns.started("retry");
  for (let count = 0; count < 4; count += 1) {
    expect(turns.hasPlaceForQueue(NOW_MS)).toBe(true);
    turns.started("queue");
  }
  expect(turns.hasPlaceForQueue(NOW_MS)).toBe(false);
  turns.ended("queue", 5_000);
  turns.started("retry");
  expect(turns.hasPlaceForQueue(NOW_MS)).toBe(true);
  turns.started("queue");
  expect(turns.isFull).toBe(true);
});

test("they take turns", () => {
  const turns = new SlotScheduler(8);
  expect(turns.isRetrysTurn(false)).toBe(true);
  turns.started("retry");
  expect(turns.isRetrysTurn(false)).toBe(false);
  turns.started("queue");
  expect(turns.isRetrysTurn(false)).toBe(true);
});

test("a probe that is due is a retry, but the queue's after three of them", () => {
  const turns = new SlotScheduler(8);
  for (let count = 0; count < 3; count += 1) {
    expect(turns.isRetrysTurn(true)).toBe(true);
    turns.started("retry");
    turns.ended("retry", 5_000);
  }
  expect(turns.isRetrysTurn(true)).toBe(false);
  turns.started("queue");
  expect(turns.isRetrysTurn(true)).toBe(true);
});

test("retries have half of the places at most while the queue waits, and one at least", () => {
  const half = new SlotScheduler(4);
  for (const turn of ["retry", "queue", "retry", "queue"] as const) half.started(turn);
  expect(half.isRetrysTurn(false)).toBe(false);
  half.ended("retry", 5_000);
  expect(half.isRetrysTurn(false)).toBe(true);
  expect(new SlotScheduler(1).isRetrysTurn(false)).toBe(true);
});

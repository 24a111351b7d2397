// The tables of turns.ts, row by row.

import { expect, test } from "vitest";

import { Turns } from "../../../src/deliver/turns.ts";

const NOW_MS = 1_000;

test("the line has every place while no retries are expected, and leaves an eighth free from then on", () => {
  const turns = new Turns(16, 60_000);
  for (let count = 0; count < 14; count += 1) turns.started("line");
  expect(turns.hasPlaceForLine(NOW_MS)).toBe(true);
  turns.expectRetries(NOW_MS);
  expect(turns.hasPlaceForLine(NOW_MS + 59_999)).toBe(false);
  expect(turns.hasPlaceForLine(NOW_MS + 60_000)).toBe(true);
  expect(turns.isFull).toBe(false);
});

test.each([
  [1, 0],
  [2, 1],
  [8, 1],
  [64, 8],
])("of %i places %i are kept free", (concurrency, kept) => {
  const turns = new Turns(concurrency, 60_000);
  turns.expectRetries(NOW_MS);
  let line = 0;
  for (; turns.hasPlaceForLine(NOW_MS); line += 1) turns.started("line");
  expect(line).toBe(concurrency - kept);
});

test("they are free for more retries, until these have half of the places", () => {
  const turns = new Turns(8, 60_000);
  turns.expectRetries(NOW_MS);
  for (let count = 0; count < 3; count += 1) turns.started("retry");
  for (let count = 0; count < 4; count += 1) {
    expect(turns.hasPlaceForLine(NOW_MS)).toBe(true);
    turns.started("line");
  }
  expect(turns.hasPlaceForLine(NOW_MS)).toBe(false);
  turns.ended("line");
  turns.started("retry");
  expect(turns.hasPlaceForLine(NOW_MS)).toBe(true);
  turns.started("line");
  expect(turns.isFull).toBe(true);
});

test("they take turns", () => {
  const turns = new Turns(8, 60_000);
  expect(turns.isRetrysTurn(false)).toBe(true);
  turns.started("retry");
  expect(turns.isRetrysTurn(false)).toBe(false);
  turns.started("line");
  expect(turns.isRetrysTurn(false)).toBe(true);
});

test("a probe that is due is a retry, but the line's after three of them", () => {
  const turns = new Turns(8, 60_000);
  for (let count = 0; count < 3; count += 1) {
    expect(turns.isRetrysTurn(true)).toBe(true);
    turns.started("retry");
    turns.ended("retry");
  }
  expect(turns.isRetrysTurn(true)).toBe(false);
  turns.started("line");
  expect(turns.isRetrysTurn(true)).toBe(true);
});

test("retries have half of the places at most while the line waits, and one at least", () => {
  const half = new Turns(4, 60_000);
  for (const turn of ["retry", "line", "retry", "line"] as const) half.started(turn);
  expect(half.isRetrysTurn(false)).toBe(false);
  half.ended("retry");
  expect(half.isRetrysTurn(false)).toBe(true);
  expect(new Turns(1, 60_000).isRetrysTurn(false)).toBe(true);
});

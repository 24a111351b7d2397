// When a fetch loop may ask its broker again.

import { expect, test } from "vitest";

import { FetchPace } from "../../../../src/kafka/consume/fetch-pace.ts";

test("the first fetch waits for nothing", () => {
  expect(new FetchPace().waitMs("1", 0)).toBe(0);
});

test.each([
  [0, 10],
  [4, 6],
  [9.5, 0.5],
  [10, 0],
  [5_000, 0],
])("%d ms after one began, the next waits for %d ms", (elapsedMs, expected) => {
  const pace = new FetchPace();
  pace.start("1", 1_000);
  expect(pace.waitMs("1", 1_000 + elapsedMs)).toBe(expected);
});

test("where a longer spacing is asked for, it holds as long as nothing is left behind", () => {
  const pace = new FetchPace(100);
  pace.start("1", 1_000);
  pace.end("1", false);
  expect(pace.waitMs("1", 1_030)).toBe(70);
  pace.end("1", true);
  expect(pace.waitMs("1", 1_004)).toBe(6);
  expect(pace.waitMs("1", 1_030)).toBe(0);
  pace.end("1", false);
  expect(pace.waitMs("1", 1_030)).toBe(70);
});

test("the loops of other brokers keep their own time", () => {
  const pace = new FetchPace();
  pace.start("1", 1_000);
  expect(pace.waitMs("2", 1_000)).toBe(0);
});

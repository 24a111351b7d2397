// The bytes that consumers may have in flight, alone and together.

import { expect, test } from "vitest";

import { ByteBudget } from "../../../../src/kafka/consume/byte-budget.ts";
import { commonBytes } from "../../../../src/kafka/port.ts";

/** Takes records of 10 bytes while there is room. Returns the bytes in flight. */
function fill(budget: ByteBudget): number {
  while (budget.hasRoomFor(10)) budget.add(10);
  return budget.inFlight;
}

test("a first record is let in however large, a second one is not", () => {
  const budget = new ByteBudget(100, null);
  expect(budget.hasRoomFor(1_000_000)).toBe(true);
  budget.add(1_000_000);
  expect(budget.hasRoomFor(1)).toBe(false);
  budget.remove(1_000_000);
  expect(budget.inFlight).toBe(0);
});

test("without a common budget the own share is all", () => {
  expect(fill(new ByteBudget(100, null))).toBe(100);
});

test("a consumer alone borrows up to half of the common budget", () => {
  expect(fill(new ByteBudget(100, commonBytes(10_000)))).toBe(5_000);
});

test("what one borrows leaves something for the next, and each has its own share in any case", () => {
  const common = commonBytes(1_000);
  const shares = Array.from({ length: 10 }, () => new ByteBudget(100, common));
  const taken = shares.map(fill);
  expect(taken.slice(0, 3)).toEqual([500, 250, 130]);
  expect(taken.slice(3)).toEqual([100, 100, 100, 100, 100, 100, 100]);
});

test("what was borrowed is free again when it is finished", () => {
  const common = commonBytes(1_000);
  const first = new ByteBudget(100, common);
  const second = new ByteBudget(100, common);
  fill(first);
  fill(second);
  first.remove(first.inFlight);
  expect(fill(second)).toBe(500);
  second.remove(second.inFlight);
  expect(common.inFlight).toBe(0);
});

test("the share of each changes while it runs: what is in flight is worked off first", () => {
  const common = commonBytes(0);
  const budget = new ByteBudget(100, common);
  common.each = 50;
  expect(fill(budget)).toBe(50);
  common.each = 200;
  expect(fill(budget)).toBe(200);
  common.each = 20;
  expect(budget.hasRoomFor(1)).toBe(false);
  budget.remove(190);
  expect(fill(budget)).toBe(20);
  expect(new ByteBudget(100, common, 1 / 4).max).toBe(5);
});

import { expect, test } from "vitest";

import { trimmed } from "../../../../../src/operator/console/page/trimmed.ts";

const series = (all: readonly (number | null)[], other = all) => ({
  fromMs: 1_000,
  stepMs: 10,
  values: { all, other },
});
const nulls = (count: number) => Array.from({ length: count }, () => null);
const ones = (count: number) => Array.from({ length: count }, () => 1);

test("the beginning in which nobody looked is cut off", () => {
  const found = trimmed(series([...nulls(100), ...ones(20)]));
  expect([found.fromMs, found.values.all]).toEqual([2_000, ones(20)]);
});

test("at least fifteen steps stay; the first of all rows counts", () => {
  expect(trimmed(series([...nulls(100), 1])).values.all).toEqual([...nulls(14), 1]);
  const found = trimmed(series([...nulls(40), 1], [...nulls(10), ...ones(31)]));
  expect([found.values.all.length, found.fromMs]).toEqual([31, 1_100]);
});

test("a series that is known from its beginning, or not at all, is whole", () => {
  const whole = series(ones(30));
  expect(trimmed(whole)).toBe(whole);
  expect(trimmed(series([])).values.all).toEqual([]);
});

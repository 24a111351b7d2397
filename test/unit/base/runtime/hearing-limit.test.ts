// The table of hearing-limit.ts.

import { expect, test } from "vitest";

import { HeardTime } from "../../../../src/base/runtime/hearing-limit.ts";

/** Returns the end of the step at which the limit of two seconds is reached, in milliseconds; null if there is none. */
function overAt(ends: Iterable<number>): number | null {
  const heard = new HeardTime(2_000, 0);
  for (const end of ends) if (heard.isOver(end)) return end;
  return null;
}

const every = (stepMs: number, count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => from + (index + 1) * stepMs);

test("a wait whose steps end in time is over with the limit", () => {
  expect(overAt(every(100, 50))).toBe(2_000);
  expect(overAt(every(110, 50))).toBe(2_090);
});

test("a blocked loop counts as two steps, however long it was blocked", () => {
  expect(overAt([60_000])).toBeNull();
  expect(overAt([60_000, ...every(100, 50, 60_000)])).toBe(61_800);
});

test("where the loop is blocked again and again the limit is over all the same", () => {
  expect(overAt(every(1_000, 50))).toBe(11_000);
});

test("what came while the loop was blocked is heard before the limit is over", () => {
  const begun = every(100, 19);
  expect(overAt([...begun, 30_000])).toBeNull();
  expect(overAt([...begun, 30_000, 30_100])).toBe(30_100);
});

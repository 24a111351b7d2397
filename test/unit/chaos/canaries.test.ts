// The law about suppressed users: when a request comes too late, and what excuses it.

import { expect, test } from "vitest";
import { isCanary, isLate } from "../../chaos/canaries.ts";

const PERIODS = [{ fromMs: 100_000, toMs: 130_000 }];
const exposed = (fromMs: number, toMs: number) => [{ kind: "freeze", fromMs, toMs }];

test.each([
  ["before the suppression", 99_000, [], false],
  ["within the bound", 110_000, [], false],
  ["after the bound", 110_001, [], true],
  ["after the lift", 130_000, [], false],
  ["while a program was frozen since before", 112_000, exposed(90_000, 105_000), false],
  ["10 s after the end of that", 115_001, exposed(90_000, 105_000), true],
  ["after a fault that began within the bound", 125_000, exposed(109_000, 116_000), false],
  ["a fault that began later excuses nothing", 112_000, exposed(110_500, 116_000), true],
  ["a fault that ended before", 110_001, exposed(50_000, 99_999), true],
])("%s: at %d", (_, atMs, exposures, late) => {
  expect(isLate(atMs, PERIODS, exposures)).toBe(late);
});

test("only calls of these users are theirs", () => {
  expect(["canary-7", "m7", "", null, undefined].map(isCanary)).toEqual([
    ...[true, false, false, false, false],
  ]);
});

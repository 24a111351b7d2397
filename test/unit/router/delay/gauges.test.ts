// The table of gauges.ts.

import { expect, test } from "vitest";

import { shownOf } from "../../../../src/router/delay/gauges.ts";
import type { Tallies, Tally } from "../../../../src/router/delay/tally.ts";

function tally(count: number, atMs = 10): Tally {
  return { count, scheduledAtMs: atMs, dueAtMs: atMs + 1, firstAttemptAtMs: atMs - 1 };
}

function delay(name: string, tallies: Record<string, Tally>, unknown = 0) {
  return { delay: name, unknown, tallies: new Map(Object.entries(tallies)) as Tallies };
}

test("the count of each destination and retry delay is shown, and its earliest times of all retry delays", () => {
  const delays = [delay("10s", { a: tally(2, 30), b: tally(1) }), delay("2m", { a: tally(3, 20) })];
  const { counts, totals } = shownOf(delays, 10);
  expect(counts).toEqual([
    { destination: "a", delay: "10s", count: 2 },
    { destination: "b", delay: "10s", count: 1 },
    { destination: "a", delay: "2m", count: 3 },
  ]);
  expect(totals.get("a")).toEqual(tally(5, 20));
});

test("of a retry delay with a partition that is not known no count is shown; times are, as far as known", () => {
  const delays = [delay("10s", { a: tally(2, 30) }), delay("2m", { a: tally(3, 20) }, 1)];
  const { counts, totals } = shownOf(delays, 10);
  expect(counts).toEqual([{ destination: "a", delay: "10s", count: 2 }]);
  expect(totals.get("a")?.scheduledAtMs).toBe(20);
});

test("of many destinations those with the most are named, and the rest is shown together", () => {
  const delays = [
    delay("10s", { a: tally(1, 5), b: tally(9), c: tally(4), "": tally(1) }),
    delay("2m", { a: tally(2), c: tally(7) }),
  ];
  const { counts, totals, waiting } = shownOf(delays, 2);
  expect(counts).toEqual([
    { destination: "", delay: "10s", count: 2 },
    { destination: "b", delay: "10s", count: 9 },
    { destination: "c", delay: "10s", count: 4 },
    { destination: "", delay: "2m", count: 2 },
    { destination: "c", delay: "2m", count: 7 },
  ]);
  expect([...totals.keys()].sort()).toEqual(["", "b", "c"]);
  expect([...waiting].sort()).toEqual(["", "a", "b", "c"]);
  expect(totals.get("")).toEqual(tally(4, 5));
});

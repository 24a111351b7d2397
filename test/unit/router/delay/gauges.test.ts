// The tables of gauges.ts and tally.ts.

import { expect, test } from "vitest";

import { shownOf } from "../../../../src/router/delay/gauges.ts";
import { Labels, REST, type Tallies, type Tally } from "../../../../src/router/delay/tally.ts";

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

test.each([
  ["configured", "crm", "crm"],
  ["another", "billing", "billing"],
  ["empty", "", REST],
  ["no id", 'x"} 1\nup{', REST],
  ["longer than an id", "x".repeat(65), REST],
])("a destination that is %s", (_, destination, label) => {
  expect(new Labels(["crm"]).of(destination)).toBe(label);
});

test("a hundred others have labels of their own, as long as something of theirs waits", () => {
  const labels = new Labels(["crm"]);
  for (let number = 0; number < 100; number += 1) labels.of(`other-${number}`);
  expect(labels.of("late")).toBe(REST);
  expect(labels.of("other-99")).toBe("other-99");
  expect(labels.of("crm")).toBe("crm");
  labels.keep(new Set(["crm", "other-3"]));
  expect(labels.of("late")).toBe("late");
  expect(labels.of("other-3")).toBe("other-3");
});

test("a destination that is configured later has its label, however many others wait", () => {
  const labels = new Labels([]);
  for (let number = 0; number < 100; number += 1) labels.of(`other-${number}`);
  expect([labels.of("crm"), labels.isConfigured("crm")]).toEqual([REST, false]);
  labels.configure(["crm"]);
  expect([labels.of("crm"), labels.isConfigured("crm")]).toEqual(["crm", true]);
});

// The lag of a consumer and the age of its oldest record: a test for each row of the file's table.

import { expect, test } from "vitest";

import type { PartitionProgress } from "../../../../src/kafka/port.ts";
import { BacklogSight } from "../../../../src/router/stage/consumer-signals.ts";

const NOW_MS = 100_000;

function at(own: Partial<PartitionProgress>): PartitionProgress {
  const place = { topic: "calls", partition: 0, position: 10, next: 10, end: 10 };
  return { ...place, endAtMs: NOW_MS - 10_000, inFlight: 0, oldestUnfinishedMs: null, ...own };
}

test.each([
  ["all is done", [at({})], 0, 0],
  ["owns nothing", [], 0, 0],
  ["has records in flight", [at({ end: 15, oldestUnfinishedMs: NOW_MS - 4_000 })], 5, 4_000],
  ["has more unread", [at({ end: 15 })], 5, 10_000],
  [
    "several partitions",
    [
      at({ end: 15, oldestUnfinishedMs: NOW_MS - 4_000 }),
      at({ partition: 1, end: 11, oldestUnfinishedMs: NOW_MS - 7_000 }),
    ],
    6,
    7_000,
  ],
  ["a clock that was set back", [at({ end: 11, oldestUnfinishedMs: NOW_MS + 5 })], 1, 0],
  ["an end never heard", [at({}), at({ partition: 1, endAtMs: null })], null, null],
  ["an end of 15 s ago", [at({ endAtMs: NOW_MS - 15_000 })], 0, 0],
  ["an older end", [at({ endAtMs: NOW_MS - 15_001 })], null, null],
  [
    "an older end, and records in flight",
    [at({ endAtMs: NOW_MS - 15_001, oldestUnfinishedMs: NOW_MS - 60_000 })],
    null,
    60_000,
  ],
])("%s", (_what, progress, lag, oldestAgeMs) => {
  expect(new BacklogSight().look(progress, true, NOW_MS)).toEqual({ lag, oldestAgeMs });
});

test("without an assignment nothing is known, whatever was owned", () => {
  const unknown = { lag: null, oldestAgeMs: null };
  expect(new BacklogSight().look([at({ end: 15 })], false, NOW_MS)).toEqual(unknown);
});

test("what is not fetched grows older until it is, however often its end is heard", () => {
  const sight = new BacklogSight();
  const look = (nowMs: number, own: Partial<PartitionProgress>) =>
    sight.look([at({ endAtMs: nowMs, ...own })], true, nowMs).oldestAgeMs;
  expect(look(100_000, { end: 11 })).toBe(0);
  expect(look(110_000, { end: 12 })).toBe(10_000);
  expect(look(170_000, { end: 12 })).toBe(70_000);
  expect(look(180_000, { end: 12, oldestUnfinishedMs: 99_000 })).toBe(81_000);
  expect(look(190_000, { position: 12, end: 12 })).toBe(0);
  expect(look(200_000, { position: 12, end: 13 })).toBe(0);
});

// The tables of src/kafka/fetch/schedule.ts.

import { expect, test } from "vitest";

import {
  brokerWaitsMs,
  responseMaxBytes,
  spacedUntilMs,
  startsInMs,
  throttledPauseMs,
} from "../../../../src/kafka/fetch/schedule.ts";

const never = Number.NEGATIVE_INFINITY;

test.each([
  ["never asked", never, never, 3, true, 0],
  ["asked long ago, with a response now", 10, 101, 3, true, 0],
  ["one that had records has no wish yet", 10, 100.5, 3, false, 0.5],
  ["nor has it long after the response", 10, 20, 3, false, 0],
  ["asked three times a moment ago", 131, 101, 0, true, 0],
  ["asked four times a moment ago", 140, 101, 0, true, 9],
  ["asked four times, many partitions", 260, 101, 3_000, true, 39],
])("%s", (_, untilMs, respondedAtMs, partitions, isEverybodyIn, expected) => {
  const pacing = { untilMs, respondedAtMs, partitions, isEverybodyIn };
  expect(startsInMs(pacing, 101)).toBeCloseTo(expected);
});

test("requests that begin as soon as they may are four at once, and then one in 10 ms", () => {
  const began: number[] = [];
  let untilMs = never;
  for (let nowMs = 1_000; began.length < 10; ) {
    const pacing = { untilMs, respondedAtMs: nowMs, partitions: 0, isEverybodyIn: true };
    const inMs = startsInMs(pacing, nowMs);
    nowMs += inMs;
    if (inMs > 0) continue;
    began.push(nowMs - 1_000);
    untilMs = spacedUntilMs(pacing, nowMs);
  }
  expect(began).toEqual([0, 0, 0, 0, 10, 20, 30, 40, 50, 60]);
});

test.each([
  ["everybody is in", true, 0, 1_000],
  ["somebody has just had records", false, 3, 10],
  ["somebody is busy for a while", false, 300.5, 300],
  ["somebody is busy for long", false, 60_000, 1_000],
])("%s", (_, isEverybodyIn, quietMs, expected) => {
  expect(brokerWaitsMs({ isEverybodyIn, quietMs })).toBe(expected);
});

test("throttled responses without records are followed by longer and longer pauses", () => {
  expect([0, 1, 2, 3, 4, 5, 100].map(throttledPauseMs)).toEqual([
    0, 0, 2_000, 4_000, 8_000, 8_000, 8_000,
  ]);
});

const MIB = 1024 * 1024;
const refused = { hasRecords: false, isWithheld: true };
const records = { hasRecords: true, isWithheld: false };

test.each([
  ["at first", [], 4 * MIB],
  ["nothing was there", [{ hasRecords: false, isWithheld: false }], 4 * MIB],
  ["refused", [refused], MIB / 4],
  ["refused again and again", Array(9).fill(refused), 1_024],
  ["records after several refusals", [refused, refused, refused, records], MIB / 64],
  ["records again and again", [refused, refused, refused, records, records, records], 4 * MIB],
])("a response may have: %s", (_, responses, expected) => {
  const bytes = responses.reduce(
    (before, last) => responseMaxBytes(before, last),
    responseMaxBytes(),
  );
  expect(bytes).toBe(expected);
});

// The tables of partition-count.ts.

import { expect, test } from "vitest";
import { PartitionCount } from "../../../../src/router/delay/partition-count.ts";
import { Labels, NEVER, type Tallies } from "../../../../src/router/delay/tally.ts";
import { invalidAt, waitingOf } from "../../../support/build/waiting-of.ts";

const LOOK_MS = 5_000;

function newCount() {
  const count = new PartitionCount(new Labels(["crm"]), () => 1_000);
  let nowMs = 1_000_000;
  return {
    count,
    look: (position: number, end: number) => {
      nowMs += LOOK_MS;
      count.look({ position, end }, nowMs);
    },
    unseen: () => {
      nowMs += LOOK_MS;
      count.look(null, nowMs);
    },
    again: (position: number, end: number) => count.look({ position, end }, nowMs),
  };
}

const at = (offset: number) => waitingOf("crm", { offset });
const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => at(from + index));

function counts(count: PartitionCount, inFlight: Iterable<ReturnType<typeof at>> = []) {
  const tallies: Tallies = new Map();
  count.addTo(tallies, inFlight);
  return Object.fromEntries([...tallies].map(([label, tally]) => [label, tally.count]));
}

test("a partition is not known before it was looked at twice", () => {
  const { count, look, again } = newCount();
  expect(count.isKnown).toBe(false);
  look(0, 0);
  expect(count.isKnown).toBe(false);
  // A check that follows too soon is skipped.
  again(0, 0);
  expect(count.isKnown).toBe(false);
  look(0, 0);
  expect(count.isKnown).toBe(true);
});

test("records behind those in flight are left to the consumer until the look after", () => {
  const { count, look } = newCount();
  look(0, 3);
  look(0, 8);
  expect(count.ahead).toEqual({ from: 0, to: 3 });
  const taken = records(0, 3);
  count.took(taken);
  expect(count.ahead).toBeNull();
  expect(count.isKnown).toBe(true);
  expect(counts(count, taken)).toEqual({ crm: 3 });
});

test("records that the consumer has no room for are read ahead, and are not known until then", () => {
  const { count, look } = newCount();
  const inFlight = records(0, 2);
  count.took(inFlight);
  look(0, 6);
  look(0, 6);
  expect(count.isKnown).toBe(false);
  expect(count.ahead).toEqual({ from: 2, to: 6 });
  count.read(records(2, 4), 4);
  expect(count.ahead).toEqual({ from: 4, to: 6 });
  // A log may end with offsets that have no records.
  count.read([at(4)], 6);
  expect(count.ahead).toBeNull();
  expect(count.isKnown).toBe(true);
  expect(counts(count, inFlight)).toEqual({ crm: 5 });
});

test("records that were taken while they were read ahead count once", () => {
  const { count, look } = newCount();
  look(0, 4);
  look(0, 4);
  const inFlight = records(0, 3);
  count.took(inFlight);
  count.read(records(0, 4), 4);
  expect(counts(count, inFlight)).toEqual({ crm: 4 });
});

test("finished records count no more, be it that nobody took them", () => {
  const { count, look } = newCount();
  look(0, 4);
  look(0, 4);
  count.read(records(0, 4), 4);
  look(4, 4);
  expect(counts(count)).toEqual({});
  expect(count.isKnown).toBe(true);
});

test("a partition whose end is not known now is not known, and what was counted stays", () => {
  const { count, look, unseen } = newCount();
  const inFlight = records(0, 3);
  count.took(inFlight);
  look(0, 3);
  look(0, 3);
  expect(count.isKnown).toBe(true);
  unseen();
  expect(count.isKnown).toBe(false);
  expect(counts(count, inFlight)).toEqual({ crm: 3 });
  look(0, 3);
  expect(count.isKnown).toBe(false);
  look(0, 3);
  expect(count.isKnown).toBe(true);
});

test("a record that is no delivery has no name, is never due, and has no window", () => {
  const { count, look } = newCount();
  look(0, 1);
  look(0, 1);
  count.read([invalidAt(0, 77)], 1);
  const tallies: Tallies = new Map();
  count.addTo(tallies, []);
  const none = { dueAtMs: NEVER, firstAttemptAtMs: NEVER };
  expect(tallies).toEqual(new Map([["", { count: 1, scheduledAtMs: 77, ...none }]]));
});

test("a clock that was set back stops no look", () => {
  const count = new PartitionCount(new Labels([]), () => 1);
  count.look({ position: 0, end: 0 }, 1_000_000);
  count.look({ position: 0, end: 0 }, 500_000);
  expect(count.isKnown).toBe(true);
});

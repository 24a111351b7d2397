// The effect of an arrival on a membership.

import { expect, test } from "vitest";

import {
  arrive,
  readMembership,
  writeMembership,
} from "../../../../src/router/audience/membership.ts";

/** The sync that began at offset 9, in which the number 7 has arrived. */
const SYNC = { begin: 9, has: (number: number) => number === 7 };

test.each([
  [null, false, "entered", "+9", true],
  [null, true, "arrived", "-9", true],
  ["+", false, "arrived", "+9", true],
  ["+3!2", true, "arrived", "+9!2", true],
  ["+9", false, "again", null, false],
  ["-9", true, "again", null, false],
  ["-9", false, "entered", "+9", false],
  ["-3", false, "entered", "+9", true],
  ["+.8", false, "arrived", "+9.8", true],
  ["+3.8!2", false, "arrived", "+9.8!2", true],
  ["+3.7", false, "again", null, false],
  ["+9.8", false, "again", null, false],
])("%s arrives in 9, again %s: %s -> %s", (before, isReplay, kind, after, isFirst) => {
  const arrival = arrive(readMembership(before, -1), SYNC, isReplay);
  expect(arrival.kind).toBe(kind);
  if (arrival.kind === "again") return;
  expect([writeMembership(arrival.next), arrival.isFirst]).toEqual([after, isFirst]);
});

test.each(["+", "+1z", "+1z.7", "+.7", "+1z.7!k", "+!k", "+.0!0", "-1z"])(
  "%s is written as it was read",
  (text) => {
    expect(writeMembership(readMembership(text, -1))).toBe(text);
  },
);

test("a number from before numbers began again counts no more", () => {
  expect(readMembership("+3.7", 4)).toEqual({ ...readMembership("+3", 4), number: -1 });
  expect(readMembership("+.7", 0).number).toBe(-1);
  expect(readMembership("+4.7", 4).number).toBe(7);
});

// What an arrival makes of a membership.

import { expect, test } from "vitest";

import { arrive, readMembership, writeMembership } from "../../../src/audience/membership.ts";

test.each([
  [null, 9, false, "entered", "+9", true],
  [null, 9, true, "arrived", "-9", true],
  ["+", 9, false, "arrived", "+9", true],
  ["+3!2", 9, true, "arrived", "+9!2", true],
  ["+9", 9, false, "again", null, false],
  ["-9", 9, true, "again", null, false],
  ["-9", 9, false, "entered", "+9", false],
  ["-3", 9, false, "entered", "+9", true],
])("%s arrives in %s, again %s: %s -> %s", (before, begin, isReplay, kind, after, isFirst) => {
  const arrival = arrive(readMembership(before), begin, isReplay);
  expect(arrival.kind).toBe(kind);
  if (arrival.kind === "again") return;
  expect([writeMembership(arrival.next), arrival.isFirst]).toEqual([after, isFirst]);
});

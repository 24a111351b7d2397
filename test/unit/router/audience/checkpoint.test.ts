// The decision whether a local store can be used.

import { expect, test } from "vitest";

import {
  matchOf,
  newCheckpoint,
  readCheckpoint,
} from "../../../../src/router/audience/checkpoint.ts";

const checkpoint = { ...newCheckpoint("me", 10, 0), changelog: 50 };
const facts = { end: 50, identityThere: "me", identityBehind: null, nowMs: 0 };
test.each([
  [checkpoint, {}, "current"],
  [null, {}, "missing"],
  [checkpoint, { end: 49 }, "ahead"],
  [checkpoint, { end: 60 }, "behind"],
  [checkpoint, { end: 60, nowMs: 43_200_001 }, "stale"],
  [checkpoint, { nowMs: 43_200_001 }, "current"],
  [checkpoint, { identityThere: null, identityBehind: "me", end: 60 }, "behind"],
  [checkpoint, { identityThere: null }, "foreign"],
  [checkpoint, { identityThere: "other" }, "foreign"],
  [checkpoint, { identityBehind: "other", end: 60 }, "foreign"],
])("%j with %j is %s", (given, more, match) => {
  expect(matchOf(given, { ...facts, ...more })).toBe(match);
});

test.each([undefined, "", "{", "null", "{}", '{"version":2}', '{"version":1,"identity":"me"}'])(
  "%s is no checkpoint",
  (text) => {
    expect(readCheckpoint(text)).toBeNull();
  },
);

test("a checkpoint is read as it was written", () => {
  expect(readCheckpoint(JSON.stringify(checkpoint))).toEqual(checkpoint);
});

// The effect of a record on the current state of an audience.

import { expect, test } from "vitest";

import type { Audience, OpenSync } from "../../../../src/router/audience/audience.ts";
import type { AudienceRecord } from "../../../../src/router/audience/parse-sync.ts";
import { isTooOld, replayStepOf, stepOf } from "../../../../src/router/audience/sync-state.ts";

const open: OpenSync = {
  syncId: "now",
  begin: 10,
  beganAtMs: 1_000,
  membersBefore: 0,
  verdict: null,
};
const audience: Audience = {
  id: "a",
  name: "A",
  key: "a",
  first: 0,
  open,
  awaitingApproval: { syncId: "awaiting", begin: 5, removals: 3, sinceMs: 0 },
  last: null,
  closed: 1,
};

const record = (type: string, syncId: string, more: object = {}) => {
  const all = { audienceName: "A", userIds: [], count: 0, force: false };
  return { type, audienceId: "a", syncId, ...all, ...more } as unknown as AudienceRecord;
};
const step = (given: AudienceRecord, known: Audience | null, isOver = false, offset = 20) =>
  stepOf({ record: given, offset, audience: known, isOver }).kind;

test.each([
  ["begin", "new", "create"],
  ["snapshot", "new", "create"],
  ["members", "new", "invalid"],
  ["end", "new", "invalid"],
  ["approve", "new", "invalid"],
  ["delete", "new", "ignore"],
])("%s of an unknown audience: %s -> %s", (type, syncId, expected) => {
  expect(step(record(type, syncId), null)).toBe(expected);
});

test.each([
  ["begin", "now", {}, "ignore"],
  ["begin", "awaiting", {}, "ignore"],
  ["begin", "new", {}, "open"],
  ["members", "now", {}, "arrive"],
  ["members", "awaiting", {}, "ignore"],
  ["members", "new", {}, "invalid"],
  ["end", "now", {}, "end"],
  ["end", "awaiting", {}, "ignore"],
  ["end", "awaiting", { force: true }, "approve"],
  ["end", "new", { force: true }, "invalid"],
  ["snapshot", "new", {}, "open"],
  ["snapshot", "now", {}, "ignore"],
  ["snapshot", "awaiting", {}, "ignore"],
  ["snapshot", "awaiting", { force: true }, "approve"],
  ["approve", "awaiting", {}, "approve"],
  ["approve", "now", {}, "ignore"],
  ["approve", "new", {}, "invalid"],
  ["delete", "new", {}, "delete"],
])("%s of sync %s, %j -> %s", (type, syncId, more, expected) => {
  expect(step(record(type, syncId, more), audience)).toBe(expected);
});

test.each(["begin", "members", "end", "snapshot", "approve"])(
  "%s of a sync that is over is ignored",
  (type) => {
    expect(step(record(type, "old", { force: true }), audience, true)).toBe("ignore");
  },
);

test("a snapshot that a crash cut short continues", () => {
  expect(step(record("snapshot", "now"), audience, false, 10)).toBe("continue");
});

test.each([
  ["members", "now", 20, "arrive"],
  ["members", "new", 20, "ignore"],
  ["snapshot", "now", 10, "continue"],
  ["begin", "now", 10, "ignore"],
  ["end", "now", 20, "ignore"],
  ["delete", "now", 20, "ignore"],
])("applied before: %s of sync %s -> %s", (type, syncId, offset, expected) => {
  expect(replayStepOf({ record: record(type, syncId), offset, audience }).kind).toBe(expected);
});

test("a sync is too old after a day", () => {
  expect(isTooOld(open, 1_000 + 86_400_000)).toBe(false);
  expect(isTooOld(open, 1_001 + 86_400_000)).toBe(true);
});

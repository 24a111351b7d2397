// The tables of known-suppressions.ts and user-header.ts.

import { expect, test } from "vitest";
import { KnownSuppressions } from "../../../../src/router/suppression/known-suppressions.ts";
import { KEY_BYTES, keyRecord } from "../../../../src/router/suppression/suppression-record.ts";
import { lift, stored, suppress, suppressing } from "../../../support/build/suppressions.ts";

const TOPIC = "sw.suppressions";
const call = (userId: string | null, more: { type?: string; previousId?: string } = {}) => ({
  type: more.type ?? "track",
  userId,
  previousId: more.previousId ?? null,
});

test.each([
  ["its user is suppressed", call("u1"), true],
  ["another user", call("u2"), false],
  ["an ID that only looks similar", call("u1 "), false],
  ["only an anonymous ID", call(null), false],
  ["an alias to a suppressed user", call("u1", { type: "alias", previousId: "a" }), true],
  ["an alias of a suppressed user", call("a", { type: "alias", previousId: "u1" }), true],
  ["an alias of others", call("a", { type: "alias", previousId: "b" }), false],
  ["a previousId in a call of another type", call("a", { previousId: "u1" }), false],
])("%s: %j", (_, given, matches) => {
  const known = suppressing("u1");
  expect(known.matches(given)).toBe(matches);
  expect(suppressing().matches(given)).toBe(false);
  const header = known.headerOf(given) ?? "";
  expect(known.matchesHeader(header)).toBe(matches);
  expect(header).not.toContain("u1");
});

test("a header of somebody without a user ID matches nobody, and odd ones do not either", () => {
  const known = suppressing("u1");
  expect(known.headerOf(call(null))).toBe("-");
  const odd = ["", "-", ",", "u1", "x".repeat(22), "=".repeat(22), "é".repeat(22)];
  expect(odd.filter((header) => known.matchesHeader(header))).toEqual([]);
});

test("without the key, a header does not show whose it is", () => {
  const other = new KnownSuppressions(1);
  other.apply(stored(keyRecord(TOPIC, Buffer.alloc(KEY_BYTES, 8))));
  suppress(other, "u1");
  const header = suppressing().headerOf(call("u1")) ?? "";
  expect(other.matchesHeader(header)).toBe(false);
  expect(other.headerOf(call("u1"))).not.toBe(header);
  expect(new KnownSuppressions(1).headerOf(call("u1"))).toBeNull();
});

test("a header matches with each key that was read, in whatever order; the first one is used", () => {
  const keys = [4, 6].map((byte) => stored(keyRecord(TOPIC, Buffer.alloc(KEY_BYTES, byte))));
  const [one, other] = [keys, keys.toReversed()].map((records) => {
    const known = new KnownSuppressions(1);
    for (const record of [...records, ...keys]) known.apply(record);
    suppress(known, "u1");
    return known;
  });
  expect(one?.keys).toEqual([4, 6].map((byte) => Buffer.alloc(KEY_BYTES, byte)));
  const headers = [one, other].map((known) => known?.headerOf(call("u1")) ?? "");
  expect(headers[0]).not.toBe(headers[1]);
  for (const known of [one, other]) {
    expect(headers.map((header) => known?.matchesHeader(header))).toEqual([true, true]);
  }
  expect(one?.matchesHeader(other?.headerOf(call("u2")) ?? "")).toBe(false);
});

test("a user who is lifted does not match, and listeners hear of both", () => {
  const known = suppressing();
  const heard: string[] = [];
  const end = known.onChange((userId) => heard.push(userId));
  const before = known.version;
  suppress(known, "u1");
  expect(known.matches(call("u1"))).toBe(true);
  lift(known, "u1");
  expect(known.matches(call("u1"))).toBe(false);
  expect(known.version).toBeGreaterThan(before);
  end();
  suppress(known, "u2");
  expect(heard).toEqual(["u1", "u1"]);
});

// The table of suppression-record.ts: each row.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import {
  canBeSuppressed,
  keyRecord,
  liftRecord,
  readSuppression,
  suppressionOf,
  suppressionRecord,
} from "../../../../src/router/suppression/suppression-record.ts";
import { stored } from "../../../support/build/suppressions.ts";

const TOPIC = "sw.suppressions";
const AT = "2026-03-01T09:30:15.250Z";
const AT_MS = Date.parse(AT);
const RECORD_MS = 1_800_000_000_000;

function whole(record: IncomingRecord) {
  const found = readSuppression(record);
  return found.kind === "suppressed"
    ? { kind: found.kind, ...suppressionOf(found.userId, record) }
    : found;
}

const read = (key: Buffer | string | null, value: string | null) =>
  whole(
    stored({
      key: typeof key === "string" ? Buffer.from(key) : key,
      value: value === null ? null : Buffer.from(value),
    }),
  );

test.each([
  ["u1", `{"userId":"u1","suppressedAt":"${AT}"}`, "u1", AT_MS, null],
  ["u1", `{"userId":"u1","suppressedAt":"${AT}","reason":"asked"}`, "u1", AT_MS, "asked"],
  ["u1", '{"userId":"u1"}', "u1", RECORD_MS, null],
  ["u1", '{"userId":"u1","suppressedAt":"Order 5","reason":7}', "u1", RECORD_MS, null],
  ["u1", "{}", "u1", RECORD_MS, null],
  ["157963456373623802", '{"userId":157963456373623802}', "157963456373623802", RECORD_MS, null],
  ["é☕", '{"userId":"é☕"}', "é☕", RECORD_MS, null],
  [" ", '{"userId":" "}', " ", RECORD_MS, null],
])("%j with %s is suppressed", (key, value, userId, suppressedAtMs, reason) => {
  expect(read(key, value)).toEqual({ kind: "suppressed", userId, suppressedAtMs, reason });
});

test("a reason is cut to 200 characters, whole ones", () => {
  const found = read("u1", JSON.stringify({ userId: "u1", reason: "😀".repeat(201) }));
  expect(found).toMatchObject({ reason: "😀".repeat(200) });
});

test("a tombstone lifts", () => {
  expect(read("u1", null)).toEqual({ kind: "lifted", userId: "u1" });
});

test.each([
  [null, '{"userId":"u1"}', "the key is not a user ID"],
  ["", '{"userId":""}', "the key is not a user ID"],
  [Buffer.from([0xc3]), "{}", "the key is not UTF-8"],
  [Buffer.from([0xff, 1, 2]), "{}", "the key is not UTF-8"],
  [Buffer.from([0xff, ...Buffer.alloc(16)]), null, "the key is not UTF-8"],
  ["u1", '{"userId":"u2"}', "userId in the value is not the key"],
  ["u1", '{"userId":["u1"]}', "userId in the value is not the key"],
  ["u1", '{"userId":null}', "userId in the value is not the key"],
  ["u1", "{", "the value is not JSON"],
  ["u1", '["u1"]', "the value is a list"],
  ["u1", "", "the value is not JSON"],
])("%j with %j is invalid", (key, value, error) => {
  expect(read(key, value)).toEqual({ kind: "invalid", error: expect.stringContaining(error) });
});

test("a record that is larger than the topic allows is invalid, and no error quotes the record", () => {
  const record = stored({ key: Buffer.from("jane"), value: null });
  const cut = { keyBytes: 4, valueBytes: 2_000_000, headers: null };
  const large = readSuppression({ ...record, omitted: { bytes: 2_000_000, cut } });
  expect(large).toMatchObject({ kind: "invalid" });
  const others = [large, read("jane", "jane"), read("jane", '{"userId":"jane2"}')];
  expect(JSON.stringify(others)).not.toContain("jane");
});

test("what is written is read", () => {
  const suppression = { userId: "u1", suppressedAtMs: AT_MS, reason: "asked" };
  expect(whole(stored(suppressionRecord(TOPIC, suppression)))).toEqual({
    kind: "suppressed",
    ...suppression,
  });
  expect(readSuppression(stored(liftRecord(TOPIC, "u1")))).toEqual({
    kind: "lifted",
    userId: "u1",
  });
  const key = Buffer.alloc(16, 3);
  expect(readSuppression(stored(keyRecord(TOPIC, key)))).toEqual({ kind: "key", key });
});

test("an ID without a form in UTF-8 cannot be suppressed", () => {
  expect(["", "\ud800", "a\udc00b", "😀", " "].map(canBeSuppressed)).toEqual([
    ...[false, false, false],
    ...[true, true],
  ]);
});

import { expect, test } from "vitest";

import { callTimes, usableRecordTime } from "../../../src/domain/call-time.ts";

const RECORD_AT_MS = Date.UTC(2026, 2, 1, 12);
const NONE = {
  timestamp: undefined,
  originalTimestamp: undefined,
  sentAt: undefined,
  receivedAt: undefined,
};
const T = "2026-03-01T10:00:00Z";
// The device's clock is an hour slow: the call was made ten seconds before it was sent.
const ORIGINAL = "2026-03-01T09:00:00Z";
const SENT = "2026-03-01T09:00:10Z";
const RECEIVED = "2026-03-01T10:00:10Z";

test.each([
  ["timestamp", { timestamp: T }, "10:00:00"],
  [
    "timestamp wins and is not corrected",
    { timestamp: T, originalTimestamp: "2026-03-01T01:00:00Z", sentAt: SENT, receivedAt: RECEIVED },
    "10:00:00",
  ],
  [
    "originalTimestamp, corrected for the device's clock",
    { originalTimestamp: ORIGINAL, sentAt: SENT, receivedAt: RECEIVED },
    "10:00:00",
  ],
  ["originalTimestamp without sentAt", { originalTimestamp: ORIGINAL, receivedAt: T }, "09:00:00"],
  ["originalTimestamp without receivedAt", { originalTimestamp: ORIGINAL, sentAt: T }, "09:00:00"],
  ["receivedAt", { receivedAt: T }, "10:00:00"],
  ["receivedAt, although sentAt is there", { sentAt: SENT, receivedAt: T }, "10:00:00"],
  ["the record's time", {}, "12:00:00"],
  ["the record's time, although sentAt is there", { sentAt: SENT }, "12:00:00"],
  ["an unreadable timestamp is none", { timestamp: "Order 5", receivedAt: T }, "10:00:00"],
  [
    "an unreadable sentAt corrects nothing",
    { originalTimestamp: ORIGINAL, sentAt: "soon", receivedAt: RECEIVED },
    "09:00:00",
  ],
  [
    "an unreadable originalTimestamp is none",
    { originalTimestamp: "?", receivedAt: T },
    "10:00:00",
  ],
  ["null is none", { timestamp: null, receivedAt: null }, "12:00:00"],
  ["seconds are read", { timestamp: 1_772_359_200 }, "10:00:00"],
  ["other numbers are none", { timestamp: 794_136_615 }, "12:00:00"],
  [
    "a correction out of the calendar is none",
    { originalTimestamp: ORIGINAL, sentAt: "9999-01-01", receivedAt: "0001-01-01" },
    "09:00:00",
  ],
])("a call's time: %s", (_name, given, expected) => {
  const { timestampMs } = callTimes({ ...NONE, ...given }, RECORD_AT_MS);
  expect(new Date(timestampMs).toISOString()).toBe(`2026-03-01T${expected}.000Z`);
});

test.each([
  ["its receivedAt", { timestamp: SENT, receivedAt: T }, Date.parse(T)],
  ["else the record's time", { timestamp: SENT }, RECORD_AT_MS],
  ["the record's time where receivedAt is unreadable", { receivedAt: "today" }, RECORD_AT_MS],
])("a call's receipt is %s", (_name, given, expected) => {
  expect(callTimes({ ...NONE, ...given }, RECORD_AT_MS).receivedAtMs).toBe(expected);
});

test.each([
  [{ timestamp: "Order 5" }, "timestamp"],
  [{ timestamp: 5 }, "timestamp"],
  [{ timestamp: {} }, "timestamp"],
  [{ timestamp: false, sentAt: "?" }, "timestamp"],
  [{ originalTimestamp: "?", receivedAt: T }, "originalTimestamp"],
  [{ sentAt: "soon" }, "sentAt"],
  [{ receivedAt: "today" }, "receivedAt"],
  [{ timestamp: T, sentAt: "soon" }, null],
  [{ timestamp: null, originalTimestamp: "", receivedAt: undefined }, null],
  [{}, null],
] as const)("of %j, the field that cannot be read is %j", (given, unread) => {
  expect(callTimes({ ...NONE, ...given }, RECORD_AT_MS).unread).toBe(unread);
});

test.each([
  ["milliseconds", 1_770_000_000_000, 1_770_000_000_000],
  ["none (-1)", -1, 5],
  ["none (0)", 0, 5],
  ["microseconds", 1_770_000_000_000_000, 5],
  ["the largest there is", Number(2n ** 63n - 1n), 5],
])("a record time of %s", (_name, recordAtMs, expected) => {
  expect(usableRecordTime(recordAtMs, 5)).toBe(expected);
});

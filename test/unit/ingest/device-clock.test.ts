// A device's clock: each row of the table in src/ingest/device-clock.ts, and the law.

import fc from "fast-check";
import { expect, test } from "vitest";

import { isoTimestamp, readTimestamp } from "../../../src/domain/timestamp.ts";
import { readBodyAtOnce } from "../../../src/ingest/read-body.ts";
import { batchFrame, singleFrame } from "../../../src/ingest/read-call.ts";
import { readCalls } from "../../../src/ingest/read-calls.ts";
import { GENERATED_INPUTS } from "../../support/build/generated-inputs.ts";

const RECEIVED_AT_MS = Date.parse("2026-11-20T10:00:00.000Z");

interface Sent {
  readonly call: object;
  /** Undefined if the call is sent alone, on the path of its type. */
  readonly envelope?: object;
  readonly correctsClock?: boolean;
}

function stored({ call, envelope, correctsClock = true }: Sent): Record<string, unknown> {
  const own = { type: "track", userId: "u", event: "e", messageId: "m", ...call };
  const bytes = Buffer.from(JSON.stringify(envelope ? { ...envelope, batch: [own] } : own));
  const outline = readBodyAtOnce(bytes, envelope !== undefined);
  if (outline.kind === "refused") throw new Error(outline.error);
  const receivedAt = isoTimestamp(RECEIVED_AT_MS);
  const newMessageId = () => "new";
  const common = { topic: "calls", sharedHeaders: [], receivedAt, correctsClock, newMessageId };
  const frame = envelope ? batchFrame(common, outline.envelope) : singleFrame(common, "track");
  const reader = readCalls(bytes, outline, frame);
  reader.next(10, () => true);
  return JSON.parse(`${reader.read.records[0]?.value}`);
}

const AN_HOUR_AHEAD = { sentAt: "2026-11-20T11:00:00.000Z" };

test.each<[string, Sent, string]>([
  [
    "an hour ahead",
    { call: { timestamp: "2026-11-20T10:59:58.000Z" }, envelope: AN_HOUR_AHEAD },
    "2026-11-20T09:59:58.000Z",
  ],
  [
    "the same, in the call itself",
    { call: { ...AN_HOUR_AHEAD, timestamp: "2026-11-20T10:59:58.000Z" } },
    "2026-11-20T09:59:58.000Z",
  ],
  [
    "the same, in a call of a batch",
    { call: { ...AN_HOUR_AHEAD, timestamp: "2026-11-20T10:59:58.000Z" }, envelope: {} },
    "2026-11-20T09:59:58.000Z",
  ],
  [
    "a day behind",
    {
      call: { timestamp: "2026-11-19T09:59:00.000Z" },
      envelope: { sentAt: "2026-11-19T10:00:00Z" },
    },
    "2026-11-20T09:59:00.000Z",
  ],
  [
    "31 s behind",
    {
      call: { timestamp: "2026-11-20T09:59:00.000Z" },
      envelope: { sentAt: "2026-11-20T09:59:29Z" },
    },
    "2026-11-20T09:59:31.000Z",
  ],
  [
    "an hour ahead, with an offset",
    {
      call: { timestamp: "2026-11-20T12:59:58+02:00" },
      envelope: { sentAt: "2026-11-20T13:00:00+02:00" },
    },
    "2026-11-20T09:59:58.000Z",
  ],
  [
    "an hour ahead, in numbers",
    {
      call: { timestamp: RECEIVED_AT_MS + 3_598_000 },
      envelope: { sentAt: RECEIVED_AT_MS + 3_600_000 },
    },
    "2026-11-20T09:59:58.000Z",
  ],
  [
    "an hour ahead, of an old event",
    { call: { timestamp: "2020-01-01T01:00:00.000Z" }, envelope: AN_HOUR_AHEAD },
    "2020-01-01T00:00:00.000Z",
  ],
  [
    "in 1970",
    {
      call: { timestamp: "1970-01-01T00:00:10.000Z" },
      envelope: { sentAt: "1970-01-01T00:00:12.000Z" },
    },
    "2026-11-20T09:59:58.000Z",
  ],
])("a clock that is %s", (_name, sent, timestamp) => {
  const call = stored(sent);
  expect(call).toMatchObject({
    timestamp,
    sentAt:
      (sent.envelope as { sentAt?: unknown } | undefined)?.sentAt ??
      (sent.call as { sentAt?: unknown }).sentAt,
  });
  expect(call.originalTimestamp).toBe((sent.call as { timestamp: unknown }).timestamp);
});

test.each<[string, Sent]>([
  [
    "30 s ahead",
    {
      call: { timestamp: "2026-11-20T10:00:29+00:00" },
      envelope: { sentAt: "2026-11-20T10:00:30Z" },
    },
  ],
  [
    "30 s behind",
    { call: { timestamp: "2026-11-20 09:59:29" }, envelope: { sentAt: "2026-11-20T09:59:30Z" } },
  ],
  [
    "right, and the event is years old",
    { call: { timestamp: "2019-05-05" }, envelope: { sentAt: "2026-11-20T10:00:00Z" } },
  ],
  ["wrong, and there is no timestamp", { call: {}, envelope: AN_HOUR_AHEAD }],
  ["wrong, and the timestamp is null", { call: { timestamp: null }, envelope: AN_HOUR_AHEAD }],
  [
    "wrong, and the timestamp cannot be read",
    { call: { timestamp: "noon" }, envelope: AN_HOUR_AHEAD },
  ],
  [
    "wrong, and only originalTimestamp is there",
    { call: { originalTimestamp: "2026-11-20T10:59:58.000Z" }, envelope: AN_HOUR_AHEAD },
  ],
  [
    "unknown: there is no sentAt",
    { call: { timestamp: "2026-11-20T10:59:58.000Z" }, envelope: {} },
  ],
  [
    "unknown: sentAt cannot be read",
    { call: { timestamp: "2026-11-20T10:59:58.000Z" }, envelope: { sentAt: "noon" } },
  ],
  [
    "so wrong that the time would have no year",
    { call: { timestamp: "0000-01-01T00:00:00Z" }, envelope: { sentAt: "9999-01-01T00:00:00Z" } },
  ],
  [
    "wrong, and the source does without",
    {
      correctsClock: false,
      call: { timestamp: "2026-11-20T10:59:58.000Z" },
      envelope: AN_HOUR_AHEAD,
    },
  ],
])("nothing moves for a clock that is %s", (_name, sent) => {
  const { timestamp, originalTimestamp } = stored(sent);
  expect(JSON.stringify({ timestamp, originalTimestamp })).toBe(
    JSON.stringify({
      timestamp: (sent.call as { timestamp?: unknown }).timestamp,
      originalTimestamp: (sent.call as { originalTimestamp?: unknown }).originalTimestamp,
    }),
  );
});

test.each([1_763_632_800, "", "yesterday", {}])(
  "a batch's sentAt that cannot be read, such as %j, takes no call's own place",
  (sentAt) => {
    const call = { ...AN_HOUR_AHEAD, timestamp: "2026-11-20T10:59:58.000Z" };
    const expected = { ...AN_HOUR_AHEAD, timestamp: "2026-11-20T09:59:58.000Z" };
    expect(stored({ call, envelope: { sentAt } })).toMatchObject(expected);
  },
);

test("a call's own originalTimestamp stays", () => {
  const call = {
    timestamp: "2026-11-20T10:59:58.000Z",
    originalTimestamp: "2026-11-20T10:59:57.000Z",
  };
  expect(stored({ call, envelope: AN_HOUR_AHEAD })).toMatchObject({
    timestamp: "2026-11-20T09:59:58.000Z",
    originalTimestamp: "2026-11-20T10:59:57.000Z",
  });
});

test.each(["", null, "noon"])("an originalTimestamp that is %j is none", (originalTimestamp) => {
  const timestamp = "2026-11-20T10:59:58.000Z";
  const call = { timestamp, originalTimestamp };
  expect(stored({ call, envelope: AN_HOUR_AHEAD }).originalTimestamp).toBe(timestamp);
});

test("the law: an event is as long before its receipt as it was before it was sent", () => {
  const instants = fc.integer({ min: Date.parse("1980-01-01"), max: Date.parse("2090-01-01") });
  fc.assert(
    fc.property(
      instants,
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.boolean(),
      (sentAtMs, ageMs, isNear) => {
        const sentMs = isNear ? RECEIVED_AT_MS + (sentAtMs % 60_000) - 30_000 : sentAtMs;
        const timestamp = isoTimestamp(sentMs - ageMs);
        const call = stored({ call: { timestamp }, envelope: { sentAt: isoTimestamp(sentMs) } });
        const isMoved = Math.abs(RECEIVED_AT_MS - sentMs) > 30_000;
        const expectedMs = isMoved ? RECEIVED_AT_MS - ageMs : sentMs - ageMs;
        expect(readTimestamp(call.timestamp)).toBe(expectedMs);
        expect(call.originalTimestamp).toBe(isMoved ? timestamp : undefined);
      },
    ),
    { numRuns: GENERATED_INPUTS },
  );
});

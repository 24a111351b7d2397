// A device's clock: each row of the table in src/router/ingest/read-call.ts, and the law.

import fc from "fast-check";
import { expect, test } from "vitest";

import { isoTimestamp, readTimestamp } from "../../../../src/domain/timestamp.ts";
import { GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";
import { ingested, RECEIVED_AT, valuesOf } from "../../../support/build/ingested.ts";

const RECEIVED_AT_MS = Date.parse(RECEIVED_AT);

type Fields = Readonly<Record<string, unknown>>;

interface Sent {
  readonly call: Fields;
  /** Undefined if the call is sent alone, on the path of its type. */
  readonly envelope?: Fields;
  readonly correctsClock?: boolean;
}

function stored({ call, envelope, correctsClock = true }: Sent): Record<string, unknown> {
  const own = { type: "track", userId: "u", event: "e", messageId: "m", ...call };
  const bytes = Buffer.from(JSON.stringify(envelope ? { ...envelope, batch: [own] } : own));
  return valuesOf(ingested(bytes, envelope ? null : "track", correctsClock))[0];
}

const AN_HOUR_AHEAD = { sentAt: "2026-11-20T11:00:00.000Z" };
const AHEAD = { ...AN_HOUR_AHEAD, timestamp: "2026-11-20T10:59:58.000Z" };
/** A call of a batch that was sent at this time. */
const sentIn = (sentAt: unknown, timestamp: unknown): Sent => {
  return { call: { timestamp }, envelope: { sentAt } };
};
const inBatch = (call: Fields): Sent => ({ call, envelope: AN_HOUR_AHEAD });

test.each<[string, Sent, string]>([
  ["an hour ahead", inBatch({ timestamp: AHEAD.timestamp }), "2026-11-20T09:59:58.000Z"],
  ["the same, in the call itself", { call: AHEAD }, "2026-11-20T09:59:58.000Z"],
  ["the same, in a call of a batch", { call: AHEAD, envelope: {} }, "2026-11-20T09:59:58.000Z"],
  ...(
    [
      ["a day behind", "2026-11-19T10:00:00Z", "2026-11-19T09:59:00.000Z", "09:59:00"],
      ["31 s behind", "2026-11-20T09:59:29Z", "2026-11-20T09:59:00.000Z", "09:59:31"],
      ["with an offset", "2026-11-20T13:00:00+02:00", "2026-11-20T12:59:58+02:00", "09:59:58"],
      ["in numbers", RECEIVED_AT_MS + 3_600_000, RECEIVED_AT_MS + 3_598_000, "09:59:58"],
      ["in 1970", "1970-01-01T00:00:12.000Z", "1970-01-01T00:00:10.000Z", "09:59:58"],
    ] as const
  ).map(([name, sentAt, timestamp, time]): [string, Sent, string] => {
    return [name, sentIn(sentAt, timestamp), `2026-11-20T${time}.000Z`];
  }),
  [
    "ahead, of an old event",
    inBatch({ timestamp: "2020-01-01T01:00:00.000Z" }),
    "2020-01-01T00:00:00.000Z",
  ],
])("a clock that is %s", (_name, sent, timestamp) => {
  const { call, envelope } = sent;
  const sentAt = envelope?.sentAt ?? call.sentAt;
  expect(stored(sent)).toMatchObject({ timestamp, sentAt, originalTimestamp: call.timestamp });
});

test.each<[string, Sent]>([
  ["30 s ahead", sentIn("2026-11-20T10:00:30Z", "2026-11-20T10:00:29+00:00")],
  ["30 s behind", sentIn("2026-11-20T09:59:30Z", "2026-11-20 09:59:29")],
  ["right, and the event is years old", sentIn("2026-11-20T10:00:00Z", "2019-05-05")],
  ["wrong, and there is no timestamp", inBatch({})],
  ["wrong, and the timestamp is null", inBatch({ timestamp: null })],
  ["wrong, and the timestamp cannot be read", inBatch({ timestamp: "noon" })],
  [
    "wrong, and only originalTimestamp is there",
    inBatch({ originalTimestamp: "2026-11-20T10:59:58.000Z" }),
  ],
  ["unknown: there is no sentAt", { call: { timestamp: AHEAD.timestamp }, envelope: {} }],
  ["unknown: sentAt cannot be read", sentIn("noon", AHEAD.timestamp)],
  [
    "so wrong that the time would have no year",
    sentIn("9999-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
  ],
  [
    "wrong, and the source does without",
    { ...inBatch({ timestamp: AHEAD.timestamp }), correctsClock: false },
  ],
])("nothing moves for a clock that is %s", (_name, sent) => {
  const times = ({ timestamp, originalTimestamp }: Fields) =>
    JSON.stringify({ timestamp, originalTimestamp });
  expect(times(stored(sent))).toBe(times(sent.call));
});

test.each([763_632_800, "", "yesterday", {}])(
  "a batch's sentAt that cannot be read, such as %j, takes no call's own place",
  (sentAt) => {
    const expected = { ...AN_HOUR_AHEAD, timestamp: "2026-11-20T09:59:58.000Z" };
    expect(stored({ call: AHEAD, envelope: { sentAt } })).toMatchObject(expected);
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

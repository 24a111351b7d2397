import { expect, test } from "vitest";

import { readDelivery } from "../../../../src/domain/delivery.ts";
import type { WrittenDestination } from "../../../../src/domain/destination.ts";
import type { DestinationId, SourceId } from "../../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { aRecord, aSource, aTopicDestination, headerTexts } from "../../../support/build/calls.ts";
import { suppressing } from "../../../support/build/suppressions.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const NOW_MS = 1_780_000_000_000;
const routing = createRouting(
  [aSource("web", ["b", "a", "live"]), aSource("empty", [])],
  "web" as SourceId,
  [
    aTopicDestination("a"),
    aTopicDestination("b"),
    aTopicDestination("live", { historical: false }),
    aTopicDestination("far"),
  ],
  topicNames("sw."),
);
const call = { type: "track", userId: "u1", anonymousId: "a1", event: "e", messageId: "m1" };

function copiesOf(record: IncomingRecord) {
  const routed = routeRecord(record, routing, NOW_MS);
  if (routed.kind === "unusable") throw new Error(routed.error);
  expect(routed.routes.map(({ topic }) => topic)).toEqual(routed.records.map(({ topic }) => topic));
  return routed.records;
}

test("a call becomes one record for each of its destinations", () => {
  const copies = copiesOf(aRecord(call));
  expect(copies.map(({ topic }) => topic)).toEqual([
    "sw.deliveries.a",
    "sw.deliveries.b",
    "sw.deliveries.live",
  ]);
});

test("the value is passed on as it came", () => {
  const bytes = Buffer.from(`\ufeff { "type":"track", "userId":"u1","event":"e", "n":1.0 }`);
  for (const { value } of copiesOf(aRecord(bytes))) expect(value).toBe(bytes);
});

test.each([
  ["the userId", call, "u1"],
  [
    "all digits of a number",
    Buffer.from('{"type":"page","userId":157963456373623802}'),
    "157963456373623802",
  ],
  [
    "all digits of an anonymousId",
    Buffer.from('{"type":"page","anonymousId":-9223372036854775808}'),
    "-9223372036854775808",
  ],
  ["a number as userId", { ...call, userId: 7 }, "7"],
  ["the anonymousId without userId", { ...call, userId: undefined }, "a1"],
])("the key is %s, whatever key the producer used", (_name, value, key) => {
  for (const copy of copiesOf(aRecord(value, { key: Buffer.from("producer's") }))) {
    expect(copy.key?.toString()).toBe(key);
  }
});

test("the headers say what a later stage needs", () => {
  const value = { ...call, timestamp: "2026-03-01T10:00:00Z", receivedAt: "2026-03-01T11:00:00Z" };
  const [copy] = copiesOf(aRecord(value));
  const headers = [...(copy?.sharedHeaders ?? []), ...(copy?.headers ?? [])];
  expect(readDelivery({ headers })).toEqual({
    kind: "delivery",
    delivery: {
      messageId: "m1",
      source: "web",
      destination: "a" as DestinationId,
      timestampMs: Date.UTC(2026, 2, 1, 10),
      receivedAtMs: Date.UTC(2026, 2, 1, 11),
      endpoint: null,
      attempt: 0,
      firstAttemptAtMs: null,
      retryCount: 0,
      dueAtMs: null,
      notBeforeMs: null,
      retryTopic: null,
      accepted: [],
      rejected: [],
      lastOutcome: null,
      userHash: null,
    },
  });
});

test("a destination without historical data gets the time of receipt", () => {
  const value = { ...call, timestamp: "2020-01-01", receivedAt: "2026-03-01T11:00:00Z" };
  const timestamps = copiesOf(aRecord(value)).map(
    (copy) => headerTexts(copy)["switchyard-timestamp"],
  );
  const [own, receipt] = [Date.UTC(2020, 0, 1), Date.UTC(2026, 2, 1, 11)];
  expect(timestamps).toEqual([`${own}`, `${own}`, `${receipt}`]);
});

test("copies share the array of their headers, so that it is encoded once", () => {
  const [a, b, live] = copiesOf(aRecord({ ...call, timestamp: "2020-01-01" }));
  expect(a?.sharedHeaders).toBe(b?.sharedHeaders);
  expect(live?.sharedHeaders).not.toBe(a?.sharedHeaders);
});

test("a call without messageId is named by where it stands", () => {
  const { messageId: _none, ...without } = call;
  const [copy] = copiesOf(aRecord(without, { topic: "raw", partition: 2, offset: 99 }));
  expect(headerTexts(copy ?? { headers: [] })).toMatchObject({
    "switchyard-message-id": "raw/2/99",
  });
});

test("producers' headers are passed on, but for those of ours", () => {
  const headers: IncomingRecord["headers"] = [
    ["trace", Buffer.from("1")],
    ["switchyard-attempt", Buffer.from("9")],
    ["switchyard-message-id", Buffer.from("forged")],
    ["trace", null],
    ["source-id", Buffer.from("web")],
  ];
  const [copy] = copiesOf(aRecord(call, { headers }));
  expect(copy?.sharedHeaders?.slice(0, 3)).toEqual([headers[0], headers[3], headers[4]]);
  expect(headerTexts(copy ?? { headers: [] })).toMatchObject({ "switchyard-message-id": "m1" });
  expect(headerTexts(copy ?? { headers: [] })).not.toHaveProperty("switchyard-attempt");
});

const HIDING = {
  ...{ sources: null, if: null, name: "f", enabled: true, drop: false, sample: null },
  ...{ dropProperties: [], allowProperties: [] },
};
const EMAIL = [{ path: "properties", names: ["email"] }];
const REMOVE = { action: "remove", path: "userId", sources: null, if: "type = 'page'" } as const;

test.each<[string, Partial<WrittenDestination>, readonly string[]]>([
  ["has no rules", {}, ["user-email", "keep"]],
  ["renames", { map: [{ ...REMOVE, action: "string" }] }, ["user-email", "keep"]],
  ["removes a value of some calls", { map: [REMOVE] }, []],
  [
    "hashes",
    { map: [{ ...REMOVE, action: "hash", algorithm: "sha256", normalize: "none", secret: null }] },
    [],
  ],
  ["drops properties", { filters: [{ ...HIDING, dropProperties: EMAIL }] }, []],
  ["allows properties", { filters: [{ ...HIDING, allowProperties: EMAIL }] }, []],
  [
    "has a filter that is off",
    { filters: [{ ...HIDING, enabled: false, dropProperties: EMAIL }] },
    ["user-email", "keep"],
  ],
  ["removes, and lists one", { map: [REMOVE], passHeaders: ["keep"] }, ["keep"]],
  ["lists one", { passHeaders: ["keep"] }, ["keep"]],
  ["lists none", { passHeaders: [] }, []],
])("producers' headers, to a destination that %s", (_, more, passed) => {
  const destinations = [
    aTopicDestination("d", more),
    aTopicDestination("late", { ...more, historical: false }),
    aTopicDestination("plain"),
  ];
  const source = aSource("web", ["d", "late", "plain"]);
  const toThese = createRouting([source], "web" as SourceId, destinations, topicNames("sw."));
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  const texts = { traceparent: parent, "user-email": "x@y", keep: "1", "Switchyard-x": "1" };
  const headers = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const);
  const routed = routeRecord(aRecord(call, { headers }), toThese, NOW_MS);
  if (routed.kind === "unusable") throw new Error(routed.error);
  const foreign = routed.records.map((record) =>
    Object.keys(headerTexts(record)).filter((name) => !name.startsWith("switchyard-")),
  );
  const expected = ["traceparent", ...passed];
  expect(foreign).toEqual([expected, expected, ["traceparent", "user-email", "keep"]]);
  const ids = routed.records.map((record) => headerTexts(record)["switchyard-message-id"]);
  expect(ids).toEqual(["m1", "m1", "m1"]);
});

test("a record time that is none is replaced by the time of reading", () => {
  const [copy] = copiesOf(aRecord(call, { timestampMs: -1 }));
  expect(headerTexts(copy ?? { headers: [] })).toMatchObject({
    "switchyard-timestamp": `${NOW_MS}`,
    "switchyard-received-at": `${NOW_MS}`,
  });
});

test.each([
  ["by a flag", { ...call, integrations: { All: false } }],
  ["because the source has no destination", { ...call, sourceId: "empty" }],
])("a call that nobody gets is no error: %s", (_name, value) => {
  expect(copiesOf(aRecord(value))).toEqual([]);
});

const WRONG = { type: "Track", sourceId: "nope", userId: [] };

test.each([
  ["bytes first", Buffer.of(0xff, 0x7b), "undecodable"],
  ["a tombstone", null, "undecodable"],
  ["a schema's frame", Buffer.of(0, 0, 0, 0, 1, 2), "unknown-schema"],
  ["then JSON", Buffer.from("{type:track}"), "undecodable"],
  ["then the type", WRONG, "invalid-call"],
  ["then the source", { ...WRONG, type: "track" }, "unknown-source"],
  ["then the fields", { ...WRONG, type: "track", sourceId: "web" }, "invalid-call"],
])("the first check that fails gives the reason: %s", (_name, value, reason) => {
  const record = aRecord(value);
  const error = expect.any(String);
  expect(routeRecord(record, routing, NOW_MS)).toEqual({ kind: "unusable", record, reason, error });
});

test("the call of a suppressed user gets no delivery, with a reason for each destination", () => {
  const routed = routeRecord(aRecord(call), routing, NOW_MS, null, suppressing("u1"));
  if (routed.kind === "unusable") throw new Error(routed.error);
  expect([routed.records, routed.routes, routed.isSuppressed]).toEqual([[], [], true]);
  const reasons = routed.ruled?.skipped.map(
    ({ route, reason }) => `${route.destination} ${reason}`,
  );
  expect(reasons?.toSorted()).toEqual(["a suppressed", "b suppressed", "live suppressed"]);
  const others = [
    { ...call, userId: "u2" },
    { type: "page", anonymousId: "u1" },
  ];
  for (const other of others) {
    expect(routeRecord(aRecord(other), routing, NOW_MS, null, suppressing("u1"))).toMatchObject({
      isSuppressed: false,
      records: expect.objectContaining({ length: 3 }),
    });
  }
});

test("only a delivery that does not show its user has a header, which does not show it either", () => {
  const rules = { map: [{ ...REMOVE, if: null }] } as const;
  const previous = { map: [{ ...REMOVE, path: "previousId", if: null }] } as const;
  const copying = [{ action: "copy", from: "anonymousId", to: "userId", sources: null, if: null }];
  const destinations = [
    webhookDestination({ id: "copies", map: copying as never }),
    webhookDestination({ id: "removes", ...rules }),
    webhookDestination({ id: "previous", ...previous }),
    webhookDestination({ id: "plain" }),
    aTopicDestination("warehouse", rules),
  ];
  const source = aSource("web", ["copies", "removes", "previous", "plain", "warehouse"]);
  const toThese = createRouting([source], "web" as SourceId, destinations, topicNames("sw."));
  const suppressions = suppressing();
  const hashesOf = (value: object) => {
    const routed = routeRecord(aRecord(value), toThese, NOW_MS, null, suppressions);
    if (routed.kind === "unusable") throw new Error(routed.error);
    return routed.records.map((record) => headerTexts(record)["switchyard-user-hash"] ?? null);
  };
  const hash = suppressions.headerOf({ type: "track", userId: "u1", previousId: null });
  expect(hashesOf(call)).toEqual([hash, hash, null, null, null]);
  expect(`${hash}`).toMatch(/^[\w-]{22}$/);
  const alias = { type: "alias", userId: "u1", previousId: "u2" };
  const both = suppressions.headerOf(alias as never);
  // An alias may have lost its previousId, even if its key is the same.
  expect(hashesOf(alias)).toEqual([null, both, both, null, null]);
  // A user ID in such a delivery is not the call's, even if the key is the same.
  const anonymous = { type: "track", anonymousId: "u1", event: "e" };
  expect(hashesOf(anonymous)[0]).toBe("-");
});

// A test for each row of the file's table, and that the route stage would write the same.

import { expect, test } from "vitest";

import type { Source } from "../../../../src/domain/destination.ts";
import type { SourceId } from "../../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { type AskedCalls, routeAgain } from "../../../../src/router/route/route-for-replay.ts";
import { routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { suppressing } from "../../../support/build/suppressions.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const AT_MS = 1_800_000_000_000;
const crm = webhookDestination();
const other = webhookDestination({ id: "other" });
const topics = topicNames("sw.");
const ALL: AskedCalls = { sinceMs: 0, untilMs: null, types: [], events: [] };

function source(id: string, destinations = [crm.id]): Source {
  return {
    id: id as SourceId,
    writeKeys: [],
    destinations,
    callsPerSecond: null,
    correctClock: true,
  } as Source;
}

const sources = [source("web", [crm.id, other.id]), source("app", [other.id])];
const web = "web" as SourceId;

function record(value: unknown, given: Partial<IncomingRecord> = {}): IncomingRecord {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const place = { topic: topics.calls, partition: 2, offset: 5, timestampMs: AT_MS };
  return { ...place, key: null, value: Buffer.from(text), headers: [], ...given };
}

function again(given: IncomingRecord, asked: Partial<AskedCalls> = {}, destination = crm) {
  const routing = createRouting(sources, web, [destination], topics);
  return routeAgain(given, { ...ALL, ...asked }, routing, destination, AT_MS);
}

const TRACK = { type: "track", userId: "u", event: "E", messageId: "m-1" };

test("a call for the destination is written as route writes it, with the same message id", () => {
  for (const call of [TRACK, { ...TRACK, messageId: undefined }]) {
    const given = record(call, { headers: [["own", Buffer.from("1")]] });
    const routed = routeRecord(given, createRouting(sources, web, [crm, other], topics), AT_MS);
    if (routed.kind !== "routed") throw new Error(routed.error);
    expect(again(given)).toEqual({ kind: "written", outgoing: routed.records[0] });
    expect(again(given, {}, other)).toEqual({ kind: "written", outgoing: routed.records[1] });
  }
});

test.each([
  [{ sinceMs: AT_MS }, "written"],
  [{ sinceMs: AT_MS + 1 }, "time"],
  [{ untilMs: AT_MS + 1 }, "written"],
  [{ untilMs: AT_MS }, "time"],
  [{ types: ["identify", "track"] }, "written"],
  [{ types: ["page"] }, "type"],
  [{ events: ["D", "E"] }, "written"],
  [{ events: ["e"] }, "event"],
] as const)("asked for %o: %s", (asked, outcome) => {
  const routed = again(record(TRACK), asked);
  expect(routed.kind === "filtered" ? routed.reason : routed.kind).toBe(outcome);
});

test("with an event asked for, calls that are no track are passed over", () => {
  const page = record({ type: "page", userId: "u" });
  expect(again(page, { events: ["E"] })).toEqual({ kind: "filtered", reason: "event" });
});

test.each([
  ["not JSON", "undecodable"],
  [{ type: "track", userId: "u" }, "invalid-call"],
  [{ ...TRACK, sourceId: "nobody" }, "unknown-source"],
] as const)("%o is unusable", (value, reason) => {
  expect(again(record(value))).toEqual({ kind: "invalid", reason });
});

test("a record that was too large to be read is unusable", () => {
  const cut = { keyBytes: null, valueBytes: 5_000_000, headers: null };
  const given = record(TRACK, { value: null, omitted: { bytes: 5_000_020, cut } });
  expect(again(given)).toEqual({ kind: "invalid", reason: "too-large" });
});

test.each([
  [{ integrations: { Webhooks: false } }, "named-false"],
  [{ integrations: { All: false } }, "all-false"],
  [{ sourceId: "app" }, "not-connected"],
])("with %o it is omitted: %s", (more, reason) => {
  expect(again(record({ ...TRACK, ...more }))).toEqual({ kind: "skipped", reason });
});

test("so it is where the destination is disabled", () => {
  const disabled = webhookDestination({ enabled: false });
  expect(again(record(TRACK), {}, disabled)).toEqual({ kind: "skipped", reason: "disabled" });
});

test("one with historical: false gets the time of receipt", () => {
  const now = webhookDestination({ historical: false });
  const given = record({ ...TRACK, timestamp: "2020-01-01T00:00:00Z" });
  const routed = again(given, {}, now);
  const outgoing = routed.kind === "written" ? routed.outgoing : null;
  const headers = new Map(outgoing?.sharedHeaders?.map(([name, value]) => [name, `${value}`]));
  expect(headers.get("switchyard-timestamp")).toBe(`${AT_MS}`);
});

test("the call of a suppressed user is skipped, and another one is not", () => {
  const routing = createRouting(sources, web, [crm], topics);
  const of = (...suppressed: readonly string[]) =>
    routeAgain(record(TRACK), ALL, routing, crm, AT_MS, suppressing(...suppressed));
  expect(of("u")).toEqual({ kind: "skipped", reason: "suppressed" });
  expect(of("u2").kind).toBe("written");
});

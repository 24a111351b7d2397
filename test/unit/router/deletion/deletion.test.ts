// Each row of the tables in src/router/deletion: how a request is parsed, which destinations it affects, and the written
// records.

import { expect, test } from "vitest";
import { readDelivery } from "../../../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { parseSync } from "../../../../src/router/audience/parse-sync.ts";
import { affected, listenersBySource } from "../../../../src/router/deletion/affected-sources.ts";
import {
  type Deletion,
  decideDeletion,
  forgetRecords,
} from "../../../../src/router/deletion/deletion.ts";
import { parseRequest } from "../../../../src/router/deletion/request.ts";
import { parseContent } from "../../../../src/router/stage/content.ts";
import { aRecord, aSource, aTopicDestination, headerTexts } from "../../../support/build/calls.ts";
import { recordValue } from "../../../support/build/record-value.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const topics = topicNames("sw.");
const RECORD_MS = 1_770_000_000_000;
const NEW_YEAR_MS = Date.UTC(2026, 0, 1);
const NEW_YEAR = "2026-01-01T00:00:00.000Z";

const listeners = listenersBySource(
  [
    aSource("web", ["hook", "warehouse", "off"]),
    aSource("ios", ["hook", "second", "live"]),
    aSource("quiet", ["warehouse"]),
    aSource("404", ["second"]),
  ],
  [
    webhookDestination({ id: "hook" }),
    webhookDestination({ id: "second", name: "Other" }),
    webhookDestination({ id: "off", enabled: false }),
    webhookDestination({ id: "live", historical: false }),
    webhookDestination({ id: "of-nobody" }),
    aTopicDestination("warehouse"),
  ],
  topics,
);

const json = (text: string) => parseRequest(recordValue(text));

test.each([
  ['{"userId":"u"}', { userId: "u" }],
  ['{"userId":7}', { userId: "7" }],
  [
    '{"userId":157963456373623802,"sourceIds":[157963456373623801]}',
    { userId: "157963456373623802", sourceIds: ["157963456373623801"] },
  ],
  ['{"userId":0}', { userId: "0" }],
  ['{"userId":" "}', { userId: " " }],
  ['\uFEFF{"userId":"é☕"}', { userId: "é☕" }],
  ['{"userId":"u","sourceIds":["web"]}', { userId: "u", sourceIds: ["web"] }],
  ['{"userId":"u","sourceIds":["web",404,"web"]}', { userId: "u", sourceIds: ["web", "404"] }],
  [`{"userId":"u","timestamp":"${NEW_YEAR}"}`, { userId: "u", timestampMs: NEW_YEAR_MS }],
  ['{"userId":"u","timestamp":"2026-01-01 01:00+0100"}', { userId: "u", timestampMs: NEW_YEAR_MS }],
  [`{"userId":"u","timestamp":${NEW_YEAR_MS}}`, { userId: "u", timestampMs: NEW_YEAR_MS }],
  ['{"userId":"u","timestamp":"Order 5"}', { userId: "u" }],
  ['{"userId":"u","timestamp":{}}', { userId: "u" }],
  ['{"userId":"u","regulation":"x"}', { userId: "u" }],
  ['{"userId":"u","suppress":true}', { userId: "u", suppress: true }],
  ['{"userId":"u","suppress":false}', { userId: "u" }],
  ['{"userId":"u","suppress":null}', { userId: "u" }],
])("%s is a request", (text, request) => {
  const whole = { sourceIds: null, timestampMs: null, suppress: false, ...request };
  expect(json(text)).toEqual({ kind: "request", request: whole });
});

test.each([
  ["", "undecodable", "the value is not JSON"],
  ["u1", "undecodable", "the value is not JSON"],
  ["null", "invalid-deletion", "a deletion request must be a JSON object, but this is null"],
  ['["u1"]', "invalid-deletion", "this is a list"],
  ['"u1"', "invalid-deletion", "this is a string"],
  ["{}", "invalid-deletion", "userId is nothing, expected a string or a number"],
  ['{"userId":""}', "invalid-deletion", "userId is an empty string"],
  ['{"userId":null}', "invalid-deletion", "userId is null"],
  ['{"userId":true}', "invalid-deletion", "userId is true"],
  ['{"userId":["u"]}', "invalid-deletion", "userId is a list"],
  ['{"userId":1e999}', "invalid-deletion", "userId is a number"],
  ['{"UserId":"u"}', "invalid-deletion", "userId is nothing"],
  ['{"userId":"u","sourceIds":null}', "invalid-deletion", "sourceIds is null, expected a list"],
  ['{"userId":"u","sourceIds":[]}', "invalid-deletion", "sourceIds is an empty list"],
  ['{"userId":"u","sourceIds":"web"}', "invalid-deletion", "sourceIds is a string"],
  ['{"userId":"u","sourceIds":{}}', "invalid-deletion", "sourceIds is an object"],
  ['{"userId":"u","sourceIds":false}', "invalid-deletion", "sourceIds is false"],
  ['{"userId":"u","sourceIds":["web",null]}', "invalid-deletion", "sourceIds[1] is null"],
  ['{"userId":"u","sourceIds":[""]}', "invalid-deletion", "sourceIds[0] is an empty string"],
  ['{"userId":"u","sourceIds":[["web"]]}', "invalid-deletion", "sourceIds[0] is a list"],
  ['{"userId":"u","sourceId":"web"}', "invalid-deletion", 'the field "sourceId" is unknown'],
  ['{"userId":"u","source_ids":["web"]}', "invalid-deletion", 'the field "source_ids" is unknown'],
  ['{"userId":"u","SourceIDs":["web"]}', "invalid-deletion", 'the field "SourceIDs" is unknown'],
  ['{"userId":"u","sources":["web"]}', "invalid-deletion", 'the field "sources" is unknown'],
  ['{"userId":"u","suppress":1}', "invalid-deletion", "suppress is a number, expected true or"],
  ['{"userId":"u","suppress":"true"}', "invalid-deletion", "suppress is a string"],
  ['{"userId":"u","suppress":true,"sourceIds":["web"]}', "invalid-deletion", "every source"],
  ['{"userId":"u\\ud800","suppress":true}', "invalid-deletion", "has no form in UTF-8"],
  ['{"userId":"u","suppressed":true}', "invalid-deletion", 'the field "suppressed" is unknown'],
  ['{"userId":"u","Suppression":true}', "invalid-deletion", 'the field "Suppression" is unknown'],
])("%j is rejected: %s, %s", (text, reason, error) => {
  expect(json(text)).toMatchObject({ reason, error: expect.stringContaining(error) });
});

test.each([
  ["a tombstone", null, "undecodable"],
  ["not UTF-8", Buffer.from([0x7b, 0xff]), "undecodable"],
  ["framed by a registry", Buffer.from([0, 0, 0, 0, 1, 2]), "unknown-schema"],
])("%s is rejected: %s", (_what, value, reason) => {
  expect(parseRequest(recordValue(value))).toMatchObject({ kind: "refused", reason });
});

test("no rejection shows who the user is", () => {
  const refused = json('{"userId":"jane@example.com","sourceIds":["jane@example.com",null]}');
  expect(JSON.stringify(refused)).not.toContain("jane");
});

test.each([
  [null, ["web", "ios", "quiet", "404"], []],
  [["ios"], ["ios"], []],
  [["ios", "web"], ["ios", "web"], []],
  [["ios", "android", "tv"], ["ios"], ["android", "tv"]],
  [["quiet"], ["quiet"], []],
])("sourceIds %j affects %j, and %j are unknown", (sourceIds, sources, unknown) => {
  const found = affected(sourceIds, listeners);
  if (found.kind === "refused") throw new Error(found.error);
  expect(found.sources.map(({ source }) => source)).toEqual(sources);
  expect(found.unknown).toEqual(unknown);
});

test.each([
  [["tv"], 'sourceIds contains "tv", which is not a configured source'],
  [["tv", "Web"], 'none of the 2 sourceIds is a configured source; the first is "tv"'],
  [["jane@example.com"], "sourceIds contains a string, which is not a configured source"],
  [["constructor"], 'sourceIds contains "constructor", which is not a configured source'],
])("sourceIds %j is of no configured source", (sourceIds, error) => {
  const refusal = { kind: "refused", reason: "unknown-source", error };
  expect(affected(sourceIds, listeners)).toEqual(refusal);
});

function decide(request: object, more: Partial<IncomingRecord> = {}, nowMs = 5): Deletion {
  const record = aRecord(request, { topic: "sw.deletion-requests", ...more });
  const decided = decideDeletion(record, listeners, nowMs);
  if (decided.kind === "unusable") throw new Error(decided.error);
  return decided;
}

const notified = (deletion: Deletion) =>
  deletion.notifications.map(({ destination, outgoing }) => {
    const headers = headerTexts(outgoing);
    expect(headers["switchyard-destination"]).toBe(destination);
    expect(outgoing.topic).toBe(`sw.deliveries.${destination}`);
    return `${destination} for ${headers["switchyard-source"]}`;
  });

test("each enabled webhook of each affected source is reported once, whatever its integrations", () => {
  expect(notified(decide({ userId: "u", integrations: { All: false } }))).toEqual([
    "hook for web",
    "hook for ios",
    "second for ios",
    "live for ios",
    "second for 404",
  ]);
  expect(notified(decide({ userId: "u", sourceIds: ["web"] }))).toEqual(["hook for web"]);
  expect(notified(decide({ userId: "u", sourceIds: ["quiet"] }))).toEqual([]);
  expect(notified(decide({ userId: "u", sourceIds: [404, "tv"] }))).toEqual(["second for 404"]);
});

test("a notification is a delivery whose value has four fields in this order", () => {
  const [first] = decide(
    { userId: 97_980, timestamp: NEW_YEAR, sourceIds: ["web"] },
    {
      headers: [
        ["trace", Buffer.from("t")],
        ["switchyard-message-id", Buffer.from("forged")],
      ],
    },
  ).notifications;
  // Computed with Python's uuid, for the name ["97980","web",1767225600000].
  const id = "3592eb50-4244-514d-bb1c-95fdf6f89848";
  expect(first?.outgoing.key?.toString()).toBe("97980");
  expect(first?.outgoing.value?.toString()).toBe(
    `{"type":"delete","userId":"97980","timestamp":"${NEW_YEAR}","messageId":"${id}"}`,
  );
  expect(headerTexts(first?.outgoing ?? { headers: [] })).toEqual({
    trace: "t",
    "switchyard-message-id": id,
    "switchyard-source": "web",
    "switchyard-destination": "hook",
    "switchyard-timestamp": `${NEW_YEAR_MS}`,
    "switchyard-received-at": `${RECORD_MS}`,
  });
  expect(readDelivery({ headers: first?.outgoing.headers ?? [] })).toMatchObject({
    kind: "delivery",
  });
  expect(parseContent(recordValue(first?.outgoing.value ?? null))).toMatchObject({
    kind: "content",
    content: { type: "delete", userId: "97980" },
  });
});

test("a listener whose rules remove values gets only the headers that it lists, and the trace", () => {
  const map = [{ action: "remove", path: "traits.email", sources: null, if: null } as const];
  const some = listenersBySource(
    [aSource("web", ["plain", "removing", "listing"])],
    [
      webhookDestination({ id: "plain" }),
      webhookDestination({ id: "removing", map }),
      webhookDestination({ id: "listing", map, passHeaders: ["ticket"] }),
    ],
    topics,
  );
  const headers = ["traceparent", "ticket", "user-email"].map(
    (name) => [name, Buffer.of(1)] as const,
  );
  const value = Buffer.from('{"userId":"u"}');
  const decided = decideDeletion(aRecord(value, { headers }), some, RECORD_MS);
  const found = decided.kind === "deletion" ? decided.notifications : [];
  const foreign = found.map(({ outgoing }) =>
    Object.keys(headerTexts(outgoing)).filter((name) => !name.startsWith("switchyard-")),
  );
  expect(foreign).toEqual([
    ["traceparent", "ticket", "user-email"],
    ["traceparent"],
    ["traceparent", "ticket"],
  ]);
});

const timesOf = (deletion: Deletion, destination: string) => {
  const found = deletion.notifications.find((each) => each.destination === destination);
  const headers = headerTexts(found?.outgoing ?? { headers: [] });
  const value = JSON.parse(`${found?.outgoing.value}`) as { readonly timestamp: string };
  expect(Date.parse(value.timestamp)).toBe(Number(headers["switchyard-timestamp"]));
  return [headers["switchyard-timestamp"], headers["switchyard-received-at"]].map(Number);
};

test.each([
  ["a time", { timestamp: NEW_YEAR }, {}, [NEW_YEAR_MS, RECORD_MS], [RECORD_MS, RECORD_MS]],
  ["no time", {}, {}, [RECORD_MS, RECORD_MS], [RECORD_MS, RECORD_MS]],
  ["an unreadable one", { timestamp: "x" }, {}, [RECORD_MS, RECORD_MS], [RECORD_MS, RECORD_MS]],
  ["none, nor its record", {}, { timestampMs: -1 }, [5, 5], [5, 5]],
])("a request with %s: what is reported, also where historical is false", (...row) => {
  const [, request, record, usual, live] = row;
  const deletion = decide({ userId: "u", ...request }, record);
  expect(timesOf(deletion, "hook")).toEqual(usual);
  expect(timesOf(deletion, "live")).toEqual(live);
});

const idsOf = (deletion: Deletion) =>
  deletion.notifications.map(({ outgoing }) => headerTexts(outgoing)["switchyard-message-id"]);

test("message ids are those of user, source and time, and of nothing else", () => {
  const ids = idsOf(decide({ userId: "u", timestamp: NEW_YEAR }));
  // hook for web; hook, second and live for ios; second for 404
  expect(new Set(ids).size).toBe(3);
  expect(ids[1]).toBe(ids[2]);
  const again = decide(
    { timestamp: NEW_YEAR_MS, userId: "u", more: 1 },
    { offset: 99, partition: 1, timestampMs: 1_780_000_000_000 },
    77,
  );
  expect(idsOf(again)).toEqual(ids);
  const others = [
    decide({ userId: "v", timestamp: NEW_YEAR }),
    decide({ userId: "u", timestamp: "2026-01-01T00:00:00.001Z" }),
    decide({ userId: "u" }),
  ];
  expect(new Set([ids, ...others.map(idsOf)].flat()).size).toBe(12);
});

test.each([RECORD_MS, -1])("without a time, a record of %d read again gives the same ids", (at) => {
  const first = decide({ userId: "u" }, { timestampMs: at }, 5);
  const again = decide({ userId: "u" }, { timestampMs: at }, 6);
  expect(idsOf(again)).toEqual(idsOf(first));
});

test("only a request without sourceIds has audiences forget the user", () => {
  expect(decide({ userId: 5 }).forgets).toBe("5");
  expect(decide({ userId: 5, sourceIds: ["web", "ios", "quiet", "404"] }).forgets).toBeNull();
});

test("an ID that is too long for an audience is reported anyway, and not forgotten", () => {
  const longest = "é".repeat(512);
  expect(decide({ userId: longest }).forgets).toBe(longest);
  const longer = decide({ userId: `${longest}x` });
  expect(longer.forgets).toBeNull();
  expect(longer.notifications).toHaveLength(5);
});

test("the audience stage reads what is written to it, and takes no id that is omitted", () => {
  const read = (userId: string) =>
    forgetRecords(userId, "syncs", 1).map(({ value }) => parseSync(JSON.parse(`${value}`)));
  const longest = "é".repeat(512);
  const record = { type: "forget", userId: longest };
  expect(read(longest)).toEqual([{ kind: "sync", record }]);
  expect(read(`${longest}x`)).toMatchObject([{ kind: "refused" }]);
});

test("each partition of audience-syncs gets a record of its own", () => {
  const value = Buffer.from('{"type":"forget","userId":"u\\"1"}');
  const record = { topic: "syncs", key: Buffer.from('u"1'), value, headers: [] };
  expect(forgetRecords('u"1', "syncs", 3)).toEqual([
    { ...record, partition: 0 },
    { ...record, partition: 1 },
    { ...record, partition: 2 },
  ]);
});

test("what cannot be used keeps its record", () => {
  const record = aRecord({ userId: "u", sourceIds: ["tv"] });
  expect(decideDeletion(record, listeners, 5)).toMatchObject({
    kind: "unusable",
    record,
    reason: "unknown-source",
  });
});

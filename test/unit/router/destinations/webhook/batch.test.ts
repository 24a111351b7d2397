// The tables of batch.ts, row by row: the body, the headers, the ID, which calls share a request, and how responses are
// interpreted.

import { createHash, createHmac } from "node:crypto";
import { expect, test } from "vitest";
import type { MessageId } from "../../../../../src/domain/ids.ts";
import { responded, type Sendable } from "../../../../../src/router/destinations/port.ts";
import {
  batchBody,
  batchId,
  idList,
  judgeBatch,
  limitsOf,
  measure,
  readEach,
  unitsOf,
} from "../../../../../src/router/destinations/webhook/batch.ts";
import {
  requestTo,
  sharedRequest,
} from "../../../../../src/router/destinations/webhook/request.ts";
import type {
  Batch,
  WebhookDestination,
} from "../../../../../src/router/destinations/webhook/settings.ts";
import { webhookTransport } from "../../../../../src/router/destinations/webhook/transport.ts";
import { parseContent } from "../../../../../src/router/stage/content.ts";
import { recordValue } from "../../../../support/build/record-value.ts";
import {
  deliveryOf,
  endpointOf,
  unitOf,
  webhookDestination,
} from "../../../../support/build/webhook-destination.ts";

const NOW_MS = 1_772_357_415_250;
const BATCH: Batch = { calls: 3, bytes: 1_024, waitMs: 250, format: "array", responses: "whole" };
const SINGLE = webhookDestination({ sharedSecret: null });

function sendable(messageId: string, event = "e", attempt = 0): Sendable {
  const call = { type: "track", event, userId: "u" };
  return one(JSON.stringify(call), messageId, attempt);
}

function one(text: string, messageId: string, attempt = 0): Sendable {
  const parsed = parseContent(recordValue(text));
  if (parsed.kind === "refused") throw new Error(parsed.error);
  const [only] = unitOf(parsed.content, deliveryOf({ messageId: messageId as MessageId, attempt }));
  if (only === undefined) throw new Error("no unit");
  return only;
}

const deletion = (messageId: string) => one('{"type":"delete","userId":"u"}', messageId);

function measured(sent: Sendable) {
  return measure(webhookDestination({ batch: BATCH }), BATCH, sent);
}

function bodyAlone(sent: Sendable): string {
  return sharedRequest(SINGLE, [sent], NOW_MS).body.toString();
}

function shared(given: Partial<WebhookDestination>, unit: readonly Sendable[], batch = BATCH) {
  return sharedRequest(webhookDestination({ sharedSecret: null, batch, ...given }), unit, NOW_MS);
}

test.each([
  ["array", "application/json", (a: string, b: string) => `[${a},${b}]`],
  ["ndjson", "application/x-ndjson", (a: string, b: string) => `${a}\n${b}\n`],
] as const)("%s: the bodies of single requests, in order", (format, type, expected) => {
  const [a, b] = [sendable("a", "Café"), sendable("b", "line\nend")];
  const request = shared({}, [a, b], { ...BATCH, format });
  expect(request.body.toString()).toBe(expected(bodyAlone(a), bodyAlone(b)));
  expect(request.headers).toEqual([
    ["User-Agent", "Switchyard/1.0"],
    ["Content-Type", type],
    ["X-Switchyard-Batch", "2"],
  ]);
});

test("a batch of one is a list of one", () => {
  const a = sendable("a");
  const request = shared({}, [a]);
  expect(request.body.toString()).toBe(`[${bodyAlone(a)}]`);
  expect(request.headers.at(-1)).toEqual(["X-Switchyard-Batch", "1"]);
  expect(request.batch?.calls).toBe(1);
});

test("without `batch` a request is as it was", () => {
  const a = sendable("a");
  const request = sharedRequest(webhookDestination({ batch: null }), [a], NOW_MS);
  expect(request.batch).toBeNull();
  expect(request.headers.map(([name]) => name)).not.toContain("X-Switchyard-Batch");
  expect(request.body.toString().startsWith("{")).toBe(true);
});

test("one signature covers the whole body, and the ID of Standard Webhooks is that of the batch", () => {
  const unit = [sendable("a", "e", 1), sendable("b,c")];
  const asked = { messageIdHeader: true, attemptHeader: true, standardWebhooks: true };
  const { body, headers, batch } = shared({ ...asked, sharedSecret: "s3cr3t" }, unit);
  const sent = Object.fromEntries(headers);
  const id = batchId("a,b%2Cc");
  expect(batch).toEqual({ id, calls: 2 });
  const mac = createHmac("sha256", "s3cr3t").update(`${id}.1772357415.`).update(body);
  expect(sent).toMatchObject({
    "X-Signature": createHmac("sha1", "s3cr3t").update(body).digest("hex"),
    "X-Switchyard-Message-Id": "a,b%2Cc",
    "X-Switchyard-Attempt": "2,1",
    "webhook-id": id,
    "webhook-signature": `v1,${mac.digest("base64")}`,
    "X-Switchyard-Batch": "2",
  });
});

test("the ID is a UUID of version 5 of the list of message IDs", () => {
  const namespace = Buffer.from("354b2379b2904251bba93d5b41fcdd13", "hex");
  const hash = createHash("sha1").update(namespace).update("a,b").digest("hex");
  const id = batchId(idList(["a", "b"]));
  expect(id.slice(0, 13)).toBe(`${hash.slice(0, 8)}-${hash.slice(8, 12)}`);
  expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(batchId(idList(["a", "b"]))).toBe(id);
  expect(batchId(idList(["b", "a"]))).not.toBe(id);
  expect(batchId(idList(["a,b"]))).not.toBe(id);
});

test.each([
  ["8,191 characters are sent", 8_191, true],
  ["8 KiB are not", 8_192, false],
])("a list of message IDs: %s", (_name, characters, isSent) => {
  const unit = [sendable("a"), sendable("b".repeat(characters - 2))];
  const { headers } = shared({ messageIdHeader: true }, unit);
  expect(headers.some(([name]) => name === "X-Switchyard-Message-Id")).toBe(isSent);
});

test("a request asks for the body of the response only with `responses: each`", () => {
  const endpoint = endpointOf("http://a.test/");
  const whole = requestTo(endpoint, shared({}, [sendable("a")]));
  const each = requestTo(endpoint, shared({}, [sendable("a")], { ...BATCH, responses: "each" }));
  expect([whole.readsResponse, each.readsResponse]).toEqual([undefined, true]);
});

test.each(["array", "ndjson"] as const)("%s: `bytes` counts the whole body", (format) => {
  const unit = ["a", "b", "c"].map((id) => sendable(id, "Café"));
  const exact = batchBody(format, unit.map(measured)).length;
  const destination = (bytes: number) =>
    webhookDestination({ batch: { ...BATCH, format, bytes: Math.max(1, bytes) } });
  expect(unitsOf(destination(exact), unit).map(({ length }) => length)).toEqual([3]);
  expect(unitsOf(destination(exact - 1), unit).map(({ length }) => length)).toEqual([2, 1]);
});

test.each([
  [
    "as many as `calls` allow",
    [sendable("a"), sendable("b"), sendable("c"), sendable("d")],
    [3, 1],
  ],
  [
    "a call larger than `bytes` goes alone",
    [sendable("a"), sendable("b", "x".repeat(1_024)), sendable("c"), sendable("d")],
    [1, 1, 2],
  ],
  [
    "a delete notification goes alone",
    [sendable("a"), sendable("b"), deletion("c"), deletion("d"), sendable("e")],
    [2, 1, 1, 1],
  ],
  ["nothing", [], []],
])("units: %s", (_name, deliveries, sizes) => {
  const units = unitsOf(webhookDestination({ batch: BATCH }), deliveries);
  expect(units.map(({ length }) => length)).toEqual(sizes);
  expect(units.flat().map(({ delivery }) => delivery)).toEqual(
    deliveries.map(({ delivery }) => delivery),
  );
});

test("without `batch` there are no limits, and each unit has one delivery", () => {
  const single = webhookDestination({ batch: null });
  expect(limitsOf(single)).toBeNull();
  expect(unitsOf(single, [sendable("a"), sendable("b")]).map(({ length }) => length)).toEqual([
    1, 1,
  ]);
});

test("a call is measured once: the body is made of what was measured", () => {
  const destination = webhookDestination({ sharedSecret: null, batch: BATCH });
  const other = { ...measured(sendable("a")), body: '{"measured":true}', bytes: 18 };
  expect(sharedRequest(destination, [other], NOW_MS).body.toString()).toBe('[{"measured":true}]');
});

const response = (status: number, body?: string, retryAfter: string | null = null) => ({
  kind: "response" as const,
  status,
  retryAfter,
  durationMs: 1,
  body: body === undefined ? undefined : Buffer.from(body),
});
const ACCEPTED = { kind: "accepted" };
const REJECTED = { kind: "rejected" };
const retryAfter = (retryAfterMs: number | null) => ({ kind: "retry", retryAfterMs });

test.each([
  ["2xx", response(204), ACCEPTED, false],
  ["408", response(408), retryAfter(null), false],
  ["425", response(425), retryAfter(null), false],
  ["429", response(429, undefined, "7"), retryAfter(7_000), false],
  ["500", response(500), retryAfter(null), false],
  ["503", response(503, undefined, "7"), retryAfter(7_000), false],
  [
    "no response",
    { kind: "no-response" as const, cause: "timeout" as const, durationMs: 1 },
    retryAfter(null),
    false,
  ],
  ["400", response(400), REJECTED, true],
  ["413", response(413), REJECTED, true],
  ["499", response(499), REJECTED, true],
  ["410", response(410), { ...REJECTED, isGone: true }, false],
  ["301", response(301), REJECTED, false],
  ["600", response(600), REJECTED, false],
])("a batch of two, %s", (_name, result, outcome, isSplit) => {
  const whole = { outcome, calls: null, isSplit, isUnreadable: false };
  expect(judgeBatch("whole", result, 2, NOW_MS)).toEqual(whole);
  expect(judgeBatch("whole", result, 1, NOW_MS)).toEqual({ ...whole, isSplit: false });
  if (outcome !== ACCEPTED) expect(judgeBatch("each", result, 2, NOW_MS)).toEqual(whole);
});

test("with `responses: each` each call has its own outcome, and Retry-After holds for 429 and 503", () => {
  const statuses = [200, 204, 429, 503, 500, 400, 302];
  const body = JSON.stringify(statuses.map((status) => ({ status, error: `e${status}` })));
  const verdict = judgeBatch("each", response(207, body, "9"), statuses.length, NOW_MS);
  expect(verdict.outcome).toEqual(ACCEPTED);
  expect(verdict.isUnreadable).toBe(false);
  expect(verdict.calls).toEqual(
    [
      ACCEPTED,
      ACCEPTED,
      retryAfter(9_000),
      retryAfter(9_000),
      retryAfter(null),
      REJECTED,
      REJECTED,
    ].map((outcome, at) => ({ outcome, status: statuses[at], error: `e${statuses[at]}` })),
  );
});

test.each([
  ["nothing", undefined],
  ["an empty body", ""],
  ["not JSON", "ok"],
  ["a map", '{"status":200}'],
  ["too few", '[{"status":500}]'],
  ["too many", '[{"status":500},{"status":500},{"status":500}]'],
  ["numbers", "[500,500]"],
  ["no status", '[{"status":500},{}]'],
  ["a text as status", '[{"status":500},{"status":"500"}]'],
  ["a fraction", '[{"status":500},{"status":500.5}]'],
  ["no HTTP status", '[{"status":500},{"status":199}]'],
  ["600", '[{"status":500},{"status":600}]'],
])("with `responses: each`, %s counts as unreadable, and the 2xx for all", (_name, body) => {
  expect(judgeBatch("each", response(200, body), 2, NOW_MS)).toEqual({
    outcome: ACCEPTED,
    calls: null,
    isSplit: false,
    isUnreadable: true,
  });
});

test("an error that is not a text is ignored, and so are other fields", () => {
  const body = Buffer.from('[{"status":400,"error":{"code":1},"id":"x"}]');
  expect(readEach(body, 1)).toEqual([{ status: 400, error: null }]);
});

test.each([
  ["is not kept, if attempts are not recorded", undefined, "no such plan", null],
  ["is kept", 64, "no such plan", "no such plan"],
  ["is cut to the bytes that are recorded of a response", 8, "no such plan", "no such "],
  [
    "is masked where it quotes a secret",
    64,
    "key shared-secret-of-the-file",
    `key ${"*".repeat(25)}`,
  ],
  [
    "is masked where it was cut within a secret",
    12,
    "key shared-secret-of-the-file",
    `key ${"*".repeat(8)}`,
  ],
])("an error that a response has for a call %s", (_name, keepBytes, error, expected) => {
  const http = { send: () => undefined, update: () => undefined, close: async () => {} };
  const transport = webhookTransport({ update: () => false, open: () => http });
  const batch = { ...BATCH, responses: "each" } as const;
  const sharedSecret = "shared-secret-of-the-file";
  const sender = transport.open(webhookDestination({ batch, sharedSecret }));
  const prepared = sender.prepare([sender.measure(sendable("a"))], NOW_MS);
  const body = Buffer.from(JSON.stringify([{ status: 422, error }]));
  const phases = keepBytes === undefined ? undefined : { keepBytes };
  const result = responded(200, null, 1, phases, body);
  const { calls } = sender.judgeUnit(result, prepared, NOW_MS);
  expect(calls?.map((call) => call.error)).toEqual([expected]);
});

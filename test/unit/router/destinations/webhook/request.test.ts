// The headers of a request, row by row, and how their values are computed.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import type { MessageId } from "../../../../../src/domain/ids.ts";
import {
  requestTo,
  sharedRequest,
} from "../../../../../src/router/destinations/webhook/request.ts";
import type { WebhookDestination } from "../../../../../src/router/destinations/webhook/settings.ts";
import { publicKeyTexts } from "../../../../../src/router/destinations/webhook/signing-key.ts";
import { parseContent, roundsIntegers } from "../../../../../src/router/stage/content.ts";
import { verifyStandard } from "../../../../../src/sdk/webhooks/index.ts";
import { recordValue } from "../../../../support/build/record-value.ts";
import {
  deliveryOf,
  endpointOf,
  unitOf,
  webhookDestination,
} from "../../../../support/build/webhook-destination.ts";

const [KEY, PREVIOUS_KEY] = [1, 2].map(
  (byte) => `whsk_${Buffer.alloc(32, byte).toString("base64")}`,
) as [string, string];
const NOW_MS = 1_772_357_415_250;
const BODY =
  '{"version":1,"type":"track","userId":"u","event":"e","properties":{},"timestamp":"2026-03-01T09:30:15.250Z"}';
const BASE = [
  ["User-Agent", "Switchyard/1.0"],
  ["Content-Type", "application/json"],
];

function headersOf(given: Partial<WebhookDestination>, messageId = "m-1") {
  const parsed = parseContent(recordValue('{"type":"track","event":"e","userId":"u"}'));
  if (parsed.kind === "refused") throw new Error(parsed.error);
  const delivery = deliveryOf({ messageId: messageId as MessageId, attempt: 2 });
  const shared = sharedRequest(webhookDestination(given), unitOf(parsed.content, delivery), NOW_MS);
  expect(shared.body.toString()).toBe(BODY);
  return shared.headers;
}

test("without a secret there is no signature", () => {
  expect(headersOf({ sharedSecret: null })).toEqual(BASE);
});

test("with a secret the signature is of the body as sent", () => {
  const expected = createHmac("sha1", "s3cr3t").update(BODY).digest("hex");
  expect(headersOf({})).toEqual([...BASE, ["X-Signature", expected]]);
});

test("with payload: full the signature is of the full body", () => {
  const parsed = parseContent(
    recordValue('{"type":"track","event":"e","userId":"u","traits":{"a":1}}'),
  );
  if (parsed.kind === "refused") throw new Error(parsed.error);
  const destination = webhookDestination({ payload: "full", standardWebhooks: true });
  const { body, headers } = sharedRequest(destination, unitOf(parsed.content), NOW_MS);
  expect(body.toString()).toContain('"messageId"');
  const sent = Object.fromEntries(headers);
  expect(sent["X-Signature"]).toBe(createHmac("sha1", "s3cr3t").update(body).digest("hex"));
  const signed = createHmac("sha256", "s3cr3t").update("m-1.1772357415.").update(body);
  expect(sent["webhook-signature"]).toBe(`v1,${signed.digest("base64")}`);
});

test("message id and attempt go along where a destination asks for them", () => {
  const headers = headersOf({ sharedSecret: null, messageIdHeader: true, attemptHeader: true });
  expect(headers).toEqual([
    ...BASE,
    ["X-Switchyard-Message-Id", "m-1"],
    ["X-Switchyard-Attempt", "3"],
  ]);
});

test.each([
  ["a b", "a%20b"],
  ["Café\r\nX: y", "Caf%C3%A9%0D%0AX:%20y"],
  ["calls/0/17", "calls/0/17"],
  ["a%20b", "a%2520b"],
  ["%", "%25"],
])("the message id %j is sent as %s", (messageId, sent) => {
  const headers = headersOf({ sharedSecret: null, messageIdHeader: true }, messageId);
  expect(headers.at(-1)).toEqual(["X-Switchyard-Message-Id", sent]);
});

test("Standard Webhooks signs id, time and body with both secrets", () => {
  const secret = `whsec_${Buffer.from("raw key").toString("base64")}`;
  const headers = headersOf({
    standardWebhooks: true,
    sharedSecret: secret,
    previousSharedSecret: "old",
  });
  const sign = (key: string) =>
    `v1,${createHmac("sha256", key).update(`m-1.1772357415.${BODY}`).digest("base64")}`;
  // Only Standard Webhooks can have two signatures. This one uses the current secret, as it is in the configuration.
  const current = createHmac("sha1", secret).update(BODY).digest("hex");
  expect(headers.slice(2)).toEqual([
    ["X-Signature", current],
    ["webhook-id", "m-1"],
    ["webhook-timestamp", "1772357415"],
    ["webhook-signature", `${sign("raw key")} ${sign("old")}`],
  ]);
});

test.each([
  ["both", { sharedSecret: "s" }, ["v1,", "v1a,", "v1a,"]],
  ["a key alone", { sharedSecret: null }, ["v1a,", "v1a,"]],
  [
    "a previous secret without a current one",
    { sharedSecret: null, previousSharedSecret: "old" },
    ["v1a,", "v1a,"],
  ],
  ["no previous key", { sharedSecret: "s", previousSigningKey: null }, ["v1,", "v1a,"]],
])("Standard Webhooks has a signature of each key: %s", (_, secrets, versions) => {
  const [signingKey, previousSigningKey] = [KEY, PREVIOUS_KEY];
  const headers = headersOf({ standardWebhooks: true, signingKey, previousSigningKey, ...secrets });
  const signatures = headers.at(-1)?.[1].split(" ") ?? [];
  expect(signatures.map((each) => each.replace(/,.*/, ","))).toEqual(versions);
  const sent = Object.fromEntries(headers);
  const { pem, whpk } = publicKeyTexts(KEY);
  const options = { nowMs: 1_772_357_415_000 };
  for (const key of [pem, whpk, ["other", whpk]])
    expect(verifyStandard(BODY, sent, key, options)).toBe(true);
  const previous = publicKeyTexts(PREVIOUS_KEY).whpk;
  expect(verifyStandard(BODY, sent, previous, options)).toBe(versions.join().endsWith("v1a,,v1a,"));
  expect(verifyStandard(`${BODY} `, sent, whpk, options)).toBe(false);
});

test("a full stop in a message id cannot pass for one of Standard Webhooks", () => {
  const headers = headersOf({ standardWebhooks: true, messageIdHeader: true }, "calls.a/0/17");
  expect(headers.slice(3, 5)).toEqual([
    ["X-Switchyard-Message-Id", "calls.a/0/17"],
    ["webhook-id", "calls%2Ea/0/17"],
  ]);
});

test("static headers come last, in their order, with the URL as configured", () => {
  const endpoint = endpointOf("http://a.test/x?y=z", [
    ["X-B", "1"],
    ["x-a", "2"],
  ]);
  const request = requestTo(endpoint, { body: Buffer.from("{}"), headers: [["User-Agent", "s"]] });
  expect(request).toEqual({
    method: "POST",
    url: "http://a.test/x?y=z",
    headers: [
      ["User-Agent", "s"],
      ["X-B", "1"],
      ["x-a", "2"],
    ],
    body: Buffer.from("{}"),
  });
});

test.each([
  ['{"a":9007199254740993}', true],
  ['{"a":[1, 12345678901234567890]}', true],
  ['{"a":-9007199254740993}', true],
  ['{"a":9007199254740992}', false],
  ['{"a":10000000000000000000000}', false],
  ['{"a":1234567890123456}', false],
  ['{"a":"9007199254740993"}', false],
  ['{"a":":9007199254740993"}', false],
  ['{"a":0.9007199254740993}', false],
  ['{"userId":9007199254740993}', false],
  ['{"userId":9007199254740993,"traits":{"userId":9007199254740993}}', true],
  ['{"user\\u0049d":9007199254740993}', false],
  ['{"x":"userId","a":9007199254740993}', true],
  ['{"x":"\\"\\\\","a":9007199254740993}', true],
  ['{"x":"\\\\\\":9007199254740993"}', false],
  [`{"a":${"[".repeat(100_000)}9007199254740993${"]".repeat(100_000)}}`, true],
])("%.60s has an integer that is rounded: %s", (value, isRounded) => {
  expect(roundsIntegers(value)).toBe(isRounded);
});

// The headers of a request for an operator event, row by row.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";

import { eventRequest } from "../../../../../src/router/destinations/webhook/request.ts";
import { endpointOf } from "../../../../support/build/webhook-destination.ts";

const NOW_MS = 1_772_357_415_250;
const TEXT = '{"specversion":"1.0"}';
const EVENT = { id: "0b0c", text: TEXT };
const BASE = [
  ["User-Agent", "Switchyard/1.0"],
  ["Content-Type", "application/cloudevents+json; charset=utf-8"],
];

test("without a secret there is no signature, and static headers are added", () => {
  const endpoint = { ...endpointOf("https://p.example.com/"), headers: [["X-Key", "k"] as const] };
  const secrets = { sharedSecret: null, previousSharedSecret: null };
  const { url, headers, body } = eventRequest(endpoint, secrets, EVENT, NOW_MS);
  expect([url, body.toString()]).toEqual([endpoint.url, TEXT]);
  expect(headers).toEqual([...BASE, ["X-Key", "k"]]);
});

test("with secrets it is signed as webhooks are", () => {
  const endpoint = endpointOf("https://p.example.com/");
  const secrets = { sharedSecret: "new", previousSharedSecret: "old" };
  const { headers } = eventRequest(endpoint, secrets, EVENT, NOW_MS);
  const standard = (secret: string) =>
    `v1,${createHmac("sha256", secret).update(`0b0c.1772357415.${TEXT}`).digest("base64")}`;
  expect(headers).toEqual([
    ...BASE,
    ["X-Signature", createHmac("sha1", "new").update(TEXT).digest("hex")],
    ["webhook-id", "0b0c"],
    ["webhook-timestamp", "1772357415"],
    ["webhook-signature", `${standard("new")} ${standard("old")}`],
  ]);
});

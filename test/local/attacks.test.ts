// The checks of `npm run attack` must be able to find faults.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";

import { standardSignature } from "../../src/router/destinations/webhook/signature.ts";
import { startEndpoints } from "../attacks/endpoints.ts";
import { attackTable } from "../attacks/run-attacks.ts";

const SECRET = "s3cr3t";
const GOOD = '{"type":"delete","userId":"u","timestamp":"2026-03-01T09:30:15.000Z"}';

function signed(body: string, id: string): Record<string, string> {
  const timestamp = `${Math.floor(Date.now() / 1_000)}`;
  return {
    "X-Signature": createHmac("sha1", SECRET).update(body).digest("hex"),
    "X-Switchyard-Message-Id": encodeURIComponent(id),
    "webhook-id": "m",
    "webhook-timestamp": timestamp,
    "webhook-signature": standardSignature("m", timestamp, body, SECRET),
  };
}

test.each([
  ["accepts a signed webhook", GOOD, {}, []],
  ["refuses another signature", GOOD, { "X-Signature": "00" }, ["X-Signature does not fit"]],
  [
    "refuses another timestamp",
    GOOD,
    { "webhook-timestamp": "1" },
    ["webhook-signature does not fit"],
  ],
  ["refuses JSON that changes", `${GOOD} `, {}, ["the JSON changes"]],
])("the receiver %s", async (_name, body, changed, refused) => {
  await using receiver = await startEndpoints(SECRET);
  const headers = { ...signed(body, "é"), ...changed };
  const { status } = await fetch(`${receiver.url}/honest/x`, { method: "POST", headers, body });
  expect(receiver.refused).toEqual(refused);
  expect(status).toBe(refused.length === 0 ? 200 : 400);
  const got = receiver.received.map(({ destination, messageId }) => [destination, messageId]);
  expect(got).toEqual(refused.length === 0 ? [["honest", "é"]] : []);
});

test("the table says which one is not ok", () => {
  const row = { name: "a", expected: "b", seen: "c", ok: true };
  expect(attackTable([row, { ...row, ok: false }])).toBe(
    "NAME  EXPECTED  SEEN  OK\na     b         c     yes\na     b         c     NO\n",
  );
});

// The headers that a destination can request, as they arrive.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";

import type { MessageId } from "../../src/domain/ids.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient } from "../support/servers/http-client.ts";
import { type RawServer, rawServer } from "../support/servers/raw-server.ts";

const OK = "HTTP/1.1 503 S\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const CURRENT = `whsec_${Buffer.from("a key of no special length").toString("base64")}`;

/** Returns the header names in order, the values by lowercase name, and the body. */
function request({ received }: RawServer, index: number) {
  const [head = "", body = ""] = (received[index] ?? "").split("\r\n\r\n");
  const [, ...lines] = head.split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(": ");
    return [line.slice(0, at), line.slice(at + 2)];
  });
  const values = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  return {
    names: headers.map(([name]) => name),
    value: (name: string) => values.get(name.toLowerCase()) ?? "",
    body: Buffer.from(body, "latin1"),
  };
}

test("all of them, on the first attempt and on a later one", async () => {
  await using server = await rawServer((socket) => socket.end(OK));
  await using http = httpClient({
    destination: {
      standardWebhooks: true,
      messageIdHeader: true,
      attemptHeader: true,
      sharedSecret: CURRENT,
      previousSharedSecret: "old",
    },
  });
  const endpoint = endpointOf(server.url, [["X-Team", "crm"]]);
  const messageId = "t.calls/0/17 ☕" as MessageId;
  const beforeS = Math.floor(Date.now() / 1_000);
  await http.post(endpoint, { messageId, attempt: 0 });
  await http.post(endpoint, { messageId, attempt: 3 });
  const [first, later] = [request(server, 0), request(server, 1)];

  expect(first.names).toEqual([
    "host",
    "connection",
    "User-Agent",
    "Content-Type",
    "X-Signature",
    "X-Switchyard-Message-Id",
    "X-Switchyard-Attempt",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "X-Team",
    "content-length",
  ]);
  expect([first, later].map(({ value }) => value("X-Switchyard-Attempt"))).toEqual(["1", "4"]);
  for (const { value, body } of [first, later]) {
    expect(value("X-Switchyard-Message-Id")).toBe("t.calls/0/17%20%E2%98%95");
    expect(value("webhook-id")).toBe("t%2Ecalls/0/17%20%E2%98%95");
    expect(Number(value("webhook-timestamp"))).toBeGreaterThanOrEqual(beforeS);
    expect(Number(value("webhook-timestamp"))).toBeLessThanOrEqual(Date.now() / 1_000);
    const signed = `${value("webhook-id")}.${value("webhook-timestamp")}.`;
    const by = (key: string) => {
      return `v1,${createHmac("sha256", key).update(signed).update(body).digest("base64")}`;
    };
    const both = `${by("a key of no special length")} ${by("old")}`;
    expect(value("webhook-signature")).toBe(both);
    // Even during a rotation, and for a secret in any form, the current secret is used, as it is in the configuration.
    expect(value("X-Signature")).toBe(createHmac("sha1", CURRENT).update(body).digest("hex"));
  }
  expect(later.body).toEqual(first.body);
});

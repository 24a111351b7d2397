import { describe, expect, test } from "vitest";

import { parsePayload } from "../../../../src/sdk/webhooks/index.ts";

const AT = { timestamp: "2026-11-21T08:00:00.000Z" };
const V = { version: 1, ...AT };

describe("parsePayload", () => {
  test.each([
    { ...V, type: "page", userId: "u", properties: {} },
    { ...V, type: "screen", anonymousId: "a", context: {} },
    { ...V, type: "identify", userId: "u", traits: { plan: "pro" } },
    { ...V, type: "track", userId: "u", event: "e", properties: {} },
    { ...V, type: "alias", "Previous ID": "a", "User ID": "u" },
    { ...V, type: "group", groupId: "g", userId: "u", traits: {} },
    { type: "delete", userId: "u", ...AT },
  ])("gives a $type back", (payload) => {
    const body = JSON.stringify(payload);
    expect(parsePayload(body)).toEqual(payload);
    expect(parsePayload(Buffer.from(body))).toEqual(payload);
    expect(parsePayload(new TextEncoder().encode(body).buffer)).toEqual(payload);
  });

  test.each<[string, string]>([
    ["not JSON", "{"],
    ["not JSON", ""],
    ["not a JSON object", "[]"],
    ["type is not one of", "{}"],
    ["type is not one of", '{"type":"constructor"}'],
    ["timestamp", JSON.stringify({ version: 1, type: "page", userId: "u", properties: {} })],
    ["version", JSON.stringify({ ...V, version: 2, type: "page", userId: "u", properties: {} })],
    ["userId", JSON.stringify({ ...V, type: "page", properties: {} })],
    ["event", JSON.stringify({ ...V, type: "track", userId: "u", properties: {} })],
    ["properties", JSON.stringify({ ...V, type: "page", userId: "u", properties: [] })],
    ["User ID", JSON.stringify({ ...V, type: "alias", "Previous ID": "p" })],
    ["userId", JSON.stringify({ ...AT, type: "delete" })],
  ])("the error says %s: %s", (part, body) => {
    expect(() => parsePayload(body)).toThrow(
      expect.objectContaining({ name: "PayloadError", message: expect.stringContaining(part) }),
    );
  });

  test("a parsed body is said to be one", () => {
    expect(() => parsePayload({ type: "page" } as never)).toThrow(/rawBody is a parsed body/);
  });

  test("bytes that are not UTF-8 are rejected", () => {
    expect(() => parsePayload(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(/UTF-8/);
  });
});

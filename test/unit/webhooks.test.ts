import { describe, expect, test } from "vitest";

import { signature } from "../../src/deliver/sign.ts";
import { parsePayload, verify } from "../../src/webhooks/webhooks.ts";

const BODY = '{"type":"track","event":"Café ☕","userId":"u"}';
const SIGNATURE = "7b56300b25f23e3c6b1f27dd4275a788da207a10";

describe("verify", () => {
  test("takes what the deliver stage signs, as text and as bytes", () => {
    expect(signature(BODY, "s3cr3t")).toBe(SIGNATURE);
    expect(verify(BODY, SIGNATURE, "s3cr3t")).toBe(true);
    expect(verify(Buffer.from(BODY), SIGNATURE, "s3cr3t")).toBe(true);
    expect(verify('{"cool":true}', "5099cab379b3be52908387457007040cc934ef86", "abc123")).toBe(
      true,
    );
  });

  test.each<[string, string, string | null | undefined, string]>([
    ["another body", `${BODY} `, SIGNATURE, "s3cr3t"],
    ["another secret", BODY, SIGNATURE, "other"],
    ["no header", BODY, undefined, "s3cr3t"],
    ["null", BODY, null, "s3cr3t"],
    ["an empty header", BODY, "", "s3cr3t"],
    ["a part of the signature", BODY, SIGNATURE.slice(0, 39), "s3cr3t"],
    ["more than the signature", BODY, `${SIGNATURE}0`, "s3cr3t"],
    ["one digit changed", BODY, SIGNATURE.replace("7", "8"), "s3cr3t"],
    ["upper case, which is never sent", BODY, SIGNATURE.toUpperCase(), "s3cr3t"],
    ["40 characters of other bytes", BODY, "☕".repeat(40), "s3cr3t"],
  ])("refuses %s", (_, body, header, secret) => {
    expect(verify(body, header, secret)).toBe(false);
  });

  test("an empty secret and a parsed body are the caller's mistakes", () => {
    expect(() => verify(BODY, signature(BODY, " "), "")).toThrow(TypeError);
    expect(() => verify(JSON.parse(BODY), SIGNATURE, "s3cr3t")).toThrow(TypeError);
  });
});

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
  });

  test.each<[string, string]>([
    ["not JSON", "{"],
    ["not JSON", ""],
    ["not a JSON object", "[]"],
    ["type is none of", "{}"],
    ["type is none of", '{"type":"constructor"}'],
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

  test("bytes that are not UTF-8 are refused", () => {
    expect(() => parsePayload(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(/UTF-8/);
  });
});

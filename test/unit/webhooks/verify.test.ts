import { runInNewContext } from "node:vm";

import { describe, expect, test } from "vitest";

import { signature } from "../../../src/deliver/sign.ts";
import { verify } from "../../../src/webhooks/index.ts";

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
    ["40 characters of other bytes", BODY, "☕".repeat(40), "s3cr3t"],
  ])("refuses %s", (_, body, header, secret) => {
    expect(verify(body, header, secret)).toBe(false);
  });

  const bytes = new TextEncoder().encode(BODY);
  const padded = Uint8Array.of(0, ...bytes, 0);

  test.each([
    ["a string", BODY],
    ["a Buffer", Buffer.from(BODY)],
    ["a Uint8Array", bytes],
    ["a part of a larger buffer", padded.subarray(1, -1)],
    ["an ArrayBuffer", bytes.buffer],
    ["a DataView", new DataView(bytes.buffer)],
    ["an ArrayBuffer of another realm", runInNewContext(`new Uint8Array([${bytes}]).buffer`)],
  ])("takes %s", (_, body) => {
    expect(verify(body as string, SIGNATURE, "s3cr3t")).toBe(true);
    expect(verify(body as string, SIGNATURE, "other")).toBe(false);
  });

  test("takes the hex in upper case", () => {
    expect(verify(BODY, SIGNATURE.toUpperCase(), "s3cr3t")).toBe(true);
  });

  test("takes any of several secrets, and no other", () => {
    expect(verify(BODY, SIGNATURE, ["new", "s3cr3t"])).toBe(true);
    expect(verify(BODY, SIGNATURE, ["s3cr3t", "old"])).toBe(true);
    expect(verify(BODY, SIGNATURE, ["new", "old"])).toBe(false);
  });

  test.each([[""], [[]], [["s3cr3t", ""]], [undefined], [[1]]])(
    "the secret %j is the caller's mistake",
    (secrets) => {
      expect(() => verify(BODY, SIGNATURE, secrets as string)).toThrow(
        /secret is empty or no text/,
      );
    },
  );

  test.each([
    [JSON.parse(BODY), "a parsed body"],
    [[1], "a parsed body"],
    [new Blob([BODY]).arrayBuffer(), "a promise (await it)"],
    [undefined, "undefined"],
    [null, "null"],
    [1, "a number"],
  ])("the body %j is the caller's mistake, said as %s", (body, found) => {
    expect(() => verify(body, SIGNATURE, "s3cr3t")).toThrow(
      expect.objectContaining({
        name: "TypeError",
        message: expect.stringMatching(`rawBody is ${found.replace(/[()]/g, ".")}: .*express.raw`),
      }),
    );
  });
});

// Signing does not use createHmac, but must have the same result.

import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";

import { hmacSha1 } from "../../../../../src/router/destinations/webhook/signature.ts";
import { anyText } from "../../../../support/build/generated-text.ts";

const byNode = (body: Uint8Array, secret: string) =>
  createHmac("sha1", secret).update(body).digest("hex");

test("any secret signs any body as createHmac does", () => {
  const secrets = anyText({ minLength: 1, maxLength: 150 });
  fc.assert(
    fc.property(secrets, fc.uint8Array({ maxLength: 300 }), (secret, bytes) => {
      expect(hmacSha1(Buffer.from(bytes), secret)).toBe(byNode(bytes, secret));
    }),
  );
});

test.each([63, 64, 65])("a secret of %i bytes is padded or hashed first", (length) => {
  const secret = "k".repeat(length);
  expect(hmacSha1(Buffer.from("body"), secret)).toBe(byNode(Buffer.from("body"), secret));
});

test.each([0, 65_536, 65_537, 1_000_000])(
  "a body of %i bytes is signed as createHmac does",
  (length) => {
    const body = Buffer.alloc(length, "x");
    expect(hmacSha1(body, "s3cr3t")).toBe(byNode(body, "s3cr3t"));
  },
);

// The vectors of SPEC section 7, and one of RFC 2202 so that the algorithm is pinned by a third party.

import { expect, test } from "vitest";

import { signature } from "../../src/deliver/sign.ts";

test.each([
  ["abc123", '{"cool":true}', "5099cab379b3be52908387457007040cc934ef86"],
  [
    "s3cr3t",
    '{"type":"track","event":"Café ☕","userId":"u"}',
    "7b56300b25f23e3c6b1f27dd4275a788da207a10",
  ],
  ["Jefe", "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"],
])("with the secret %s the body %s has the signature %s", (secret, body, expected) => {
  expect(signature(body, secret)).toBe(expected);
  expect(signature(Buffer.from(body), secret)).toBe(expected);
});

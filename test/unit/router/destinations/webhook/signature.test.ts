// The given test vectors, one vector from RFC 2202, so that the algorithm is checked by a third party, and the vector
// of Standard Webhooks' own libraries.

import { expect, test } from "vitest";

import {
  signature,
  standardSignature,
} from "../../../../../src/router/destinations/webhook/signature.ts";

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

test("Standard Webhooks signs as its libraries do", () => {
  const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  const body = '{"test": 2432232314}';
  const sign = (secret: string) => standardSignature(id, "1614265330", body, secret);
  const expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  expect(sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBe(expected);
});

test("a Standard Webhooks secret in another form stands for its own bytes", () => {
  const sign = (secret: string) => standardSignature("id", "1614265330", "{}", secret);
  for (const secret of ["s3cr3t", "Café ☕", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]) {
    expect(sign(secret)).toBe(sign(`whsec_${Buffer.from(secret).toString("base64")}`));
  }
});

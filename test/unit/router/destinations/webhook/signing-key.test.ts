import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  publicKeySignature,
  publicKeyTexts,
  signingKey,
} from "../../../../../src/router/destinations/webhook/signing-key.ts";

/** The key pair, and below the signature, in the tests of Standard Webhooks' reference implementation. */
const BYTES =
  "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const SEED = Buffer.from(BYTES, "base64").subarray(0, 32).toString("base64");
const PUBLIC = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

function pem(type: "ed25519" | "ed448" | "x25519", options = {}): string {
  const { privateKey } = generateKeyPairSync(type as "ed25519");
  return privateKey.export({ format: "pem", type: "pkcs8", ...options }).toString();
}

describe("the vector of Standard Webhooks", () => {
  test.each([`whsk_${BYTES}`, `whsk_${SEED}`, ` whsk_${SEED.replace("=", "")}\n`])("%j", (text) => {
    const body = Buffer.from('{"test": 2432232314}');
    expect(publicKeySignature("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body, text)).toBe(
      "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
    );
    expect(publicKeyTexts(text).whpk).toBe(PUBLIC);
  });
});

test("each form of the public key verifies what the private key in PEM signed", () => {
  const text = pem("ed25519");
  const { pem: spki, whpk, jwk } = publicKeyTexts(text);
  const signed = publicKeySignature("id", "1", Buffer.from("é"), text).slice("v1a,".length);
  const x = Buffer.from(whpk.slice("whpk_".length), "base64").toString("base64url");
  for (const key of [
    createPublicKey(spki),
    createPublicKey({ key: JSON.parse(jwk), format: "jwk" }),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }),
  ]) {
    const isVerified = (content: string) =>
      verify(null, Buffer.from(content), key, Buffer.from(signed, "base64"));
    expect([isVerified("id.1.é"), isVerified("id.1.e")]).toEqual([true, false]);
  }
});

test.each([
  ["s3cr3t", "neither PEM nor a key that starts with whsk_"],
  [`whsec_${SEED}`, "neither PEM nor a key that starts with whsk_"],
  [PUBLIC, "neither PEM nor a key that starts with whsk_"],
  ["whsk_", "whsk_ followed by 0 bytes, and not by 32 or 64"],
  ["whsk_YWJj", "whsk_ followed by 3 bytes, and not by 32 or 64"],
  ["whsk_not base64", "whsk_ followed by something other than base64"],
  [
    `whsk_${Buffer.alloc(64, 7).toString("base64")}`,
    "whsk_ followed by a seed and the public key of another seed",
  ],
  [pem("ed448"), "a key of type ed448"],
  [pem("x25519"), "a key of type x25519"],
  [pem("ed25519", { cipher: "aes-256-cbc", passphrase: "p" }), "PEM without a private key"],
  [publicKeyTexts(`whsk_${SEED}`).pem, "PEM without a private key that can be read"],
  ["-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "PEM without a private key"],
])("%j is refused: %s", (text, problem) => {
  expect(() => signingKey(text)).toThrow(problem);
});

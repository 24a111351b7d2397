import { generateKeyPairSync } from "node:crypto";
import { runInNewContext } from "node:vm";

import { describe, expect, test } from "vitest";

import {
  signature,
  standardSignature,
} from "../../../../src/router/destinations/webhook/signature.ts";
import { publicKeyTexts } from "../../../../src/router/destinations/webhook/signing-key.ts";
import { verify, verifyStandard } from "../../../../src/sdk/webhooks/index.ts";

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
  ])("rejects %s", (_, body, header, secret) => {
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
        /secret is empty or not a string/,
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

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/** The vector of Standard Webhooks' reference implementation for public keys. */
const PUBLIC_KEY = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";
const { pem: PUBLIC_PEM, jwk: PUBLIC_JWK } = publicKeyTexts(
  "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
);
const PRIVATE = generateKeyPairSync("ed25519").privateKey;
const V1A =
  "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({
  format: "pem",
  type: "spki",
}) as string;
const NOW_MS = 1_772_357_415_000;
const TIMESTAMP = "1772357415";
const STANDARD_SIGNATURE = standardSignature("id-1", TIMESTAMP, BODY, SECRET);
const HEADERS = {
  "webhook-id": "id-1",
  "webhook-timestamp": TIMESTAMP,
  "webhook-signature": STANDARD_SIGNATURE,
};

function verified(headers: object, secrets: string | readonly string[] = SECRET, nowMs = NOW_MS) {
  return verifyStandard(BODY, headers as typeof HEADERS, secrets, { nowMs });
}

test("the vector of Standard Webhooks' own libraries", () => {
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const nowMs = 1_614_265_330_000;
  expect(verifyStandard('{"test": 2432232314}', headers, SECRET, { nowMs })).toBe(true);
});

test.each([
  ["a plain object, as Node has it", HEADERS],
  [
    "other letter case",
    {
      "Webhook-Id": "id-1",
      "WEBHOOK-TIMESTAMP": TIMESTAMP,
      "Webhook-Signature": STANDARD_SIGNATURE,
    },
  ],
  [
    "lists of one",
    Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name, [value]])),
  ],
  ["Headers of fetch", new Headers(HEADERS)],
  [
    "several signatures",
    { ...HEADERS, "webhook-signature": `v1,AAAA v1a,x ${STANDARD_SIGNATURE}` },
  ],
])("takes %s", (_, headers) => {
  expect(verified(headers)).toBe(true);
});

test.each([
  ["no id", { "webhook-id": undefined }],
  ["no timestamp", { "webhook-timestamp": undefined }],
  ["no signature", { "webhook-signature": undefined }],
  ["an empty signature", { "webhook-signature": "" }],
  ["another id", { "webhook-id": "id-2" }],
  ["another timestamp", { "webhook-timestamp": "1772357416" }],
  ["two ids", { "webhook-id": ["id-1", "id-1"] }],
  ["two spellings of the id", { "Webhook-Id": "id-1" }],
  ["a timestamp that is no number", { "webhook-timestamp": "now" }],
  ["a timestamp with a fraction", { "webhook-timestamp": `${TIMESTAMP}.0` }],
  ["another version", { "webhook-signature": STANDARD_SIGNATURE.replace("v1,", "v2,") }],
  ["the signature without its version", { "webhook-signature": STANDARD_SIGNATURE.slice(3) }],
  ["a part of the signature", { "webhook-signature": STANDARD_SIGNATURE.slice(0, -1) }],
])("rejects %s", (_, changed) => {
  expect(verified({ ...HEADERS, ...changed })).toBe(false);
});

test("rejects another body and another secret", () => {
  expect(verifyStandard(`${BODY} `, HEADERS, SECRET, { nowMs: NOW_MS })).toBe(false);
  expect(verified(HEADERS, "whsec_AAAA")).toBe(false);
});

test.each([
  [300_000, true],
  [-300_000, true],
  [301_000, false],
  [-301_000, false],
])("with the clock %i ms off: %j", (offMs, expected) => {
  expect(verified(HEADERS, SECRET, NOW_MS + offMs)).toBe(expected);
});

test("the tolerance can be chosen, and counts from the clock", () => {
  const nowMs = NOW_MS + 10_000;
  expect(verifyStandard(BODY, HEADERS, SECRET, { nowMs, toleranceMs: 9_999 })).toBe(false);
  expect(verifyStandard(BODY, HEADERS, SECRET, { nowMs, toleranceMs: 10_000 })).toBe(true);
  expect(verifyStandard(BODY, HEADERS, SECRET)).toBe(false);
  for (const toleranceMs of [Number.NaN, -1]) {
    expect(() => verifyStandard(BODY, HEADERS, SECRET, { toleranceMs })).toThrow(TypeError);
  }
});

test("any of several secrets fits, in either form", () => {
  expect(verified(HEADERS, ["whsec_AAAA", SECRET])).toBe(true);
  const signature = standardSignature("id-1", TIMESTAMP, BODY, "s3cr3t Ü");
  const headers = { ...HEADERS, "webhook-signature": signature };
  expect(verified(headers, ["other", "s3cr3t Ü"])).toBe(true);
  expect(verified(headers, ["other", "s3cr3t"])).toBe(false);
});

test.each(["", "whsec_", "whsec_a b", "whsec_A"])(
  "the secret %j is the caller's mistake",
  (secret) => {
    expect(() => verified(HEADERS, secret)).toThrow(TypeError);
  },
);

test.each([
  PUBLIC_KEY,
  PUBLIC_PEM,
  PUBLIC_JWK,
  JSON.stringify(JSON.parse(PUBLIC_JWK), null, 2),
  `\n  ${PUBLIC_KEY}\n`,
  `\r\n ${PUBLIC_PEM}`,
  ` \uFEFF${PUBLIC_JWK}\n`,
  `${PUBLIC_PEM}${PUBLIC_KEY}\n${PUBLIC_JWK}\n`,
  [SECRET, PUBLIC_KEY],
  [SECRET, ` ${PUBLIC_JWK}`],
])(
  "a public key verifies what its private key signed, and makes no shared secret of itself: %j",
  (keys) => {
    const nowMs = 1_614_265_330_000;
    const check = (signature: string, body = '{"test": 2432232314}') => {
      const headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": signature,
      };
      return verifyStandard(body, headers, keys, { nowMs });
    };
    expect([check(V1A), check(`v1,AAAA ${V1A}`), check(`v1a,AAAA ${V1A}`)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(check(V1A, '{"test": 2432232315}')).toBe(false);
    expect(check(V1A.replace("v1a,", "v1,"))).toBe(false);
    expect(check(V1A.replace("h", "i"))).toBe(false);
    expect(check(V1A.slice(0, -5))).toBe(false);
    for (const key of [keys].flat().filter((each) => each !== SECRET)) {
      const forged = standardSignature("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "{}", key);
      expect(check(forged, "{}")).toBe(false);
      expect(() => verify("{}", signature("{}", key), keys)).toThrow(/not made with a public key/);
    }
  },
);

test.each([
  "whpk_",
  "whpk_AAAA",
  "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
  RSA,
  JSON.stringify(PUBLIC_KEY),
  JSON.stringify(PUBLIC_PEM),
  PUBLIC_PEM.replaceAll("\n", "\\n"),
  PUBLIC_PEM.trimEnd().slice(0, -1),
  PUBLIC_JWK.slice(0, -1),
  "{}",
  `{ "keys": [${PUBLIC_JWK}] }`,
  '{"kty":"EC"}',
  JSON.stringify(PRIVATE.export({ format: "jwk" })),
  PRIVATE.export({ format: "pem", type: "pkcs8" }).toString(),
])("the public key %j is the caller's mistake", (key) => {
  expect(() => verified(HEADERS, key)).toThrow(/not one of Ed25519/);
  expect(() => verified(HEADERS, [SECRET, ` ${key}`])).toThrow(/not one of Ed25519/);
  expect(() => verify(BODY, SIGNATURE, key)).toThrow(/not made with a public key/);
});

test.each(["s3cr3t\n", " s3cr3t", "{s3cr3t}", "{", "whpk", " whsec_AAAA"])(
  "the shared secret %j is used as it is",
  (secret) => {
    expect(verify(BODY, signature(BODY, secret), secret)).toBe(true);
    expect(verify(BODY, signature(BODY, secret), `${secret} `)).toBe(false);
    const made = standardSignature("id-1", TIMESTAMP, BODY, secret);
    expect(verified({ ...HEADERS, "webhook-signature": made }, secret)).toBe(true);
  },
);

test("a parsed body is the caller's mistake, said so", () => {
  expect(() => verifyStandard(JSON.parse(BODY), HEADERS, SECRET)).toThrow(
    /rawBody is a parsed body/,
  );
});

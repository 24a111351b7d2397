// The header Authorization, and how a secret in a response is masked.

import { expect, test } from "vitest";
import type { WebhookAuth } from "../../../../../src/router/destinations/webhook/auth-settings.ts";
import {
  authorizationOf,
  maskKept,
  maskSecrets,
  secretsOf,
} from "../../../../../src/router/destinations/webhook/authorization.ts";
import { endpointOf, webhookDestination } from "../../../../support/build/webhook-destination.ts";

const BASIC: WebhookAuth = { type: "basic", username: "Aladdin", password: "open sesame" };
const BEARER: WebhookAuth = { type: "bearer", token: "fixed-token-of-the-file" };
const OAUTH: WebhookAuth = {
  type: "oauth2",
  tokenUrl: "https://id.example/token",
  clientId: "c",
  clientSecret: "client-secret-x",
  scope: null,
  privateKey: null,
  keyId: null,
  credentialsIn: "header",
  parameters: {},
};

test.each([
  // This is the example in RFC 7617.
  [BASIC, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="],
  [{ ...BASIC, username: "test", password: "123£" }, "Basic dGVzdDoxMjPCow=="],
  [BEARER, "Bearer fixed-token-of-the-file"],
  [OAUTH, "Bearer token-of-the-moment"],
])("the header of %j", (auth, header) => {
  expect(authorizationOf(auth, "token-of-the-moment")).toBe(header);
});

const TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzd2l0Y2h5YXJkIn0.c2lnbmF0dXJl";
const stars = (count: number) => "*".repeat(count);

test.each([
  ["nothing of it", "bad request", TOKEN, "bad request"],
  ["the whole token", `got ${TOKEN}!`, TOKEN, `got ${stars(TOKEN.length)}!`],
  ["it twice", `${TOKEN} ${TOKEN}`, TOKEN, `${stars(TOKEN.length)} ${stars(TOKEN.length)}`],
  ["a part of it", `got ${TOKEN.slice(20, 40)}...`, TOKEN, `got ${stars(20)}...`],
  [
    "less than 12 characters of it",
    `got ${TOKEN.slice(0, 11)}`,
    TOKEN,
    `got ${TOKEN.slice(0, 11)}`,
  ],
  ["slashes that JSON escapes", '"ab\\/cd\\/ef=="', "ab/cd/ef==", `"${stars(12)}"`],
  ["percent escapes in lower case", "t=aB%2fcd%3d%3d", "aB/cd==", `t=${stars(13)}`],
  ["percent escapes", "t=ab%2Fcd%3D%3D", "ab/cd==", `t=${stars(13)}`],
  ["a short password", "abc is wrong", "abc", "*** is wrong"],
  ["one that is not ASCII", "pässwörd", "pässwörd", stars(10)],
])("a response with %s", (_name, text, secret, masked) => {
  expect(maskSecrets(Buffer.from(text), [secret], false).toString()).toBe(masked);
});

test("where a response was cut, the start of a token is masked", () => {
  const cut = (count: number, isCut: boolean) =>
    maskSecrets(Buffer.from(`got ${TOKEN.slice(0, count)}`), [TOKEN], isCut).toString();
  for (const count of [1, 5, 11, 12, 30]) expect(cut(count, true)).toBe(`got ${stars(count)}`);
  expect(cut(5, false)).toBe("got eyJhb");
});

test("bytes that are not UTF-8 stay as they are", () => {
  const bytes = Buffer.from([0xff, 0xfe, 0x41, 0x42, 0x43, 0x80]);
  expect([...maskSecrets(bytes, ["ABC"], false)]).toEqual([0xff, 0xfe, 0x2a, 0x2a, 0x2a, 0x80]);
});

test("what was kept of a response is masked across its pieces", () => {
  const phases = {
    keepBytes: 100,
    kept: [Buffer.from("x fixed-token"), Buffer.from("-of-the-file")],
  };
  maskKept(phases, secretsOf(webhookDestination({ auth: BEARER }), ""));
  expect(Buffer.concat(phases.kept).toString()).toBe(`x ${stars(23)}`);
});

test.each([
  [BASIC, "QWxhZGRpbjpvcGVuIHNlc2FtZQ== Aladdin:open sesame open sesame"],
  [OAUTH, `${TOKEN} client-secret-x`],
])("of %j all forms are secret", (auth, text) => {
  const secrets = secretsOf(webhookDestination({ auth }), TOKEN);
  expect(maskSecrets(Buffer.from(text), secrets, false).toString()).toMatch(/^[* ]+$/);
});

const ECHOED = webhookDestination({
  sharedSecret: "shared-secret-of-crm",
  previousSharedSecret: "previous!",
  auth: { ...OAUTH, parameters: { audience: "aud-value" } },
  endpoints: [
    endpointOf("https://crm.example/v1/services/T024BE7LH/wxyzabcdefgh?key=q-7&tenant=acme%20co", [
      ["Authorization", "Bearer static-token"],
      ["X-Api-Key", "key-123"],
      ["X-Version", "2"],
    ]),
    endpointOf("https://other.example/hook", [
      ["authorization", `Basic ${Buffer.from("user:pass-word").toString("base64")}`],
    ]),
  ],
});

test.each([
  "shared-secret-of-crm",
  "previous!",
  "client-secret-x",
  "aud-value",
  "Bearer static-token",
  "static-token",
  "key-123",
  "/v1/services/T024BE7LH/wxyzabcdefgh?key=q-7&tenant=acme%20co",
  "T024BE7LH",
  "wxyzabcdefgh",
  "acme co",
  "acme%20co",
  "/hook",
  "user:pass-word",
  "pass-word",
])("a response that repeats the configured secret %s", (secret) => {
  const secrets = secretsOf(ECHOED, TOKEN);
  const masked = maskSecrets(Buffer.from(`got=${secret}, v1 2`), secrets, false).toString();
  expect(masked).toBe(`got=${"*".repeat(secret.length)}, v1 2`);
});

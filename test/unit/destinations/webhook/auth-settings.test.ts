// The setting `auth` of a webhook destination: the values that it accepts, and that its secrets are hidden.

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { expect, test } from "vitest";

import { typeOf } from "../../../../src/destinations/index.ts";
import type { WebhookDestination } from "../../../../src/destinations/webhook/settings.ts";
import { pathText } from "../../../../src/settings/problem.ts";
import { config, problems } from "../../../support/build/config-source.ts";

function webhook(auth: string, endpoint = '{ url: "https://a.example.com/" }'): string {
  return `kafka: { brokers: [kafka-1:9092] }
destinations: [{ id: hook, type: webhook, endpoints: [${endpoint}], auth: ${auth} }]`;
}

function authOf(auth: string): unknown {
  return (config(webhook(auth), {}, FILES).destinations[0] as WebhookDestination).auth;
}

const TOKEN_URL = 'tokenUrl: "https://id.example.com/token"';
const ASSERTED = `type: oauth2, ${TOKEN_URL}, clientId: c`;
const OAUTH = `type: oauth2, ${TOKEN_URL}, clientId: c, clientSecret: s`;

const pem = ({ privateKey }: { readonly privateKey: KeyObject }) =>
  privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const FILES = {
  "ec.pem": pem(generateKeyPairSync("ec", { namedCurve: "P-256" })),
  "ed25519.pem": pem(generateKeyPairSync("ed25519")),
};

test("a private key instead of a client secret", () => {
  expect(authOf(`{ ${ASSERTED}, privateKey: ec.pem, keyId: k1 }`)).toMatchObject({
    clientSecret: null,
    privateKey: FILES["ec.pem"],
    keyId: "k1",
  });
});

test("each kind of authentication, with its defaults", () => {
  expect(authOf("null")).toBe(null);
  expect(authOf(`{ ${OAUTH} }`)).toEqual({
    type: "oauth2",
    tokenUrl: "https://id.example.com/token",
    clientId: "c",
    clientSecret: "s",
    scope: null,
    privateKey: null,
    keyId: null,
    credentialsIn: "header",
    parameters: {},
  });
  const more = 'scope: "a b", credentialsIn: body, parameters: { audience: "https://x/" }';
  expect(authOf(`{ ${OAUTH}, ${more} }`)).toMatchObject({
    scope: "a b",
    credentialsIn: "body",
    parameters: { audience: "https://x/" },
  });
  const basic = { type: "basic", username: "u", password: "p:w" };
  expect(authOf('{ type: basic, username: u, password: "p:w" }')).toEqual(basic);
  expect(authOf("{ type: bearer, token: t }")).toEqual({ type: "bearer", token: "t" });
});

test.each([
  ["another type", "{ type: digest }", "auth.type", "oauth2 or basic or bearer"],
  [
    "no client secret",
    `{ type: oauth2, ${TOKEN_URL}, clientId: c }`,
    "auth.clientSecret",
    "a client secret, or privateKey",
  ],
  [
    "a private key beside a client secret",
    `{ ${OAUTH}, privateKey: ec.pem }`,
    "auth.privateKey",
    "nothing, because clientSecret is set",
  ],
  [
    "a key ID without a key",
    `{ ${OAUTH}, keyId: k1 }`,
    "auth.keyId",
    "nothing, because privateKey is not set",
  ],
  [
    "a key that no signature is known for",
    `{ ${ASSERTED}, privateKey: ed25519.pem }`,
    "auth.privateKey",
    "the path of a PEM file with a private key, without a passphrase",
  ],
  [
    "a URL without a scheme",
    "{ type: oauth2, tokenUrl: id, clientId: c, clientSecret: s }",
    "auth.tokenUrl",
    "a complete http or https URL",
  ],
  [
    "credentials elsewhere",
    `{ ${OAUTH}, credentialsIn: query }`,
    "auth.credentialsIn",
    "header or body",
  ],
  [
    "a parameter of another setting",
    `{ ${OAUTH}, parameters: { scope: x } }`,
    "auth.parameters.scope",
    "a field that may be added",
  ],
  [
    "a parameter that is sent anyway",
    `{ ${OAUTH}, parameters: { grant_type: x } }`,
    "auth.parameters.grant_type",
    "a field that may be added",
  ],
  [
    "a parameter that is a number",
    `{ ${OAUTH}, parameters: { tenant: 5 } }`,
    "auth.parameters.tenant",
    "a string",
  ],
  [
    "parameters as a list",
    `{ ${OAUTH}, parameters: [a] }`,
    "auth.parameters",
    "a map of names to strings",
  ],
  [
    "a colon in the user name",
    '{ type: basic, username: "a:b", password: p }',
    "auth.username",
    "without a colon",
  ],
  ["a token with a line break", '{ type: bearer, token: "a\\nb" }', "auth.token", "visible ASCII"],
  [
    "a setting of another type",
    "{ type: bearer, token: t, scope: s }",
    "auth.scope",
    "one of token",
  ],
])("%s", (_name, auth, path, expected) => {
  const found = problems(webhook(auth), {}, FILES);
  expect(found.map((problem) => pathText(problem.path))).toContain(`destinations[0].${path}`);
  expect(found.map((problem) => problem.expected).join()).toContain(expected);
});

test("a static header cannot replace what auth sends", () => {
  const endpoint = '{ url: "https://a.example.com/", headers: { AUTHORIZATION: x } }';
  expect(problems(webhook("{ type: bearer, token: t }", endpoint))).toMatchObject([
    { found: "a header that auth sets", hint: "remove it" },
  ]);
  expect(problems(webhook("null", endpoint))).toEqual([]);
});

test("warnings name what would be sent unencrypted", () => {
  const warningsOf = (yaml: string) => {
    const [destination] = config(yaml).destinations;
    return destination === undefined ? [] : typeOf(destination).warnings(destination);
  };
  const plain = '{ url: "http://a.example.com/" }';
  expect(warningsOf(webhook("{ type: bearer, token: t }", plain))).toEqual([
    "the credentials in auth are sent unencrypted to an endpoint with http; use https",
  ]);
  expect(warningsOf(webhook(`{ ${OAUTH.replace("https:", "http:")} }`))).toEqual([
    "clientSecret is sent unencrypted to a tokenUrl with http; use https",
  ]);
  expect(warningsOf(webhook(`{ ${OAUTH} }`))).toEqual([]);
});

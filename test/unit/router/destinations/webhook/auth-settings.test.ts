// The setting `auth` of a webhook destination: the values that it accepts, and that its secrets are hidden.

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { expect, test } from "vitest";
import { pathText } from "../../../../../src/base/settings/problem.ts";
import { typeOf } from "../../../../../src/router/destinations/index.ts";
import type { WebhookDestination } from "../../../../../src/router/destinations/webhook/settings.ts";
import { config, problems } from "../../../../support/build/config-source.ts";
import { tableRows } from "../../../../support/build/table-rows.ts";

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

test.each(
  tableRows(`
{ type: digest } | type | oauth2 or basic or bearer
{ type: oauth2, ${TOKEN_URL}, clientId: c } | clientSecret | a client secret, or privateKey
{ ${OAUTH}, privateKey: ec.pem } | privateKey | nothing, because clientSecret is set
{ ${OAUTH}, keyId: k1 } | keyId | nothing, because privateKey is not set
{ ${ASSERTED}, privateKey: ed25519.pem } | privateKey | the path of a PEM file with a private key, without a passphrase
{ type: oauth2, tokenUrl: id, clientId: c, clientSecret: s } | tokenUrl | a complete http or https URL
{ ${OAUTH}, credentialsIn: query } | credentialsIn | header or body
{ ${OAUTH}, parameters: { scope: x } } | parameters.scope | a field that may be added
{ ${OAUTH}, parameters: { grant_type: x } } | parameters.grant_type | a field that may be added
{ ${OAUTH}, parameters: { tenant: 5 } } | parameters.tenant | a string
{ ${OAUTH}, parameters: [a] } | parameters | a map of names to strings
{ type: basic, username: "a:b", password: p } | username | without a colon
{ type: bearer, token: "a\\nb" } | token | visible ASCII
{ type: bearer, token: t, scope: s } | scope | one of token
`),
)("auth: %s", (auth, path, expected) => {
  const found = problems(webhook(auth), {}, FILES);
  expect(found.map((problem) => pathText(problem.path))).toContain(`destinations[0].auth.${path}`);
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

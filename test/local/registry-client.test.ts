// Lookups over real sockets, with a stand-in for what Apicurio does not support: every outcome is distinguished.

import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";

import { createSchemaSource } from "../../src/registry/client.ts";
import type { RegistryConnection } from "../../src/registry/port.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { issue } from "../support/build/certificates.ts";
import {
  type RegistryStandIn,
  type Responding,
  registryStandIn,
  respondWithJson,
} from "../support/servers/registry-stand-in.ts";

const never = new AbortController().signal;
const SECRET = "hunter2";
const found: Responding = (_, response) => respondWithJson(response, 200, { schema: '"string"' });
const FOUND = {
  kind: "found",
  schema: { type: "AVRO", text: '"string"', references: [] },
} as const;

async function lookup(connection: Partial<RegistryConnection>, ref: number | string = 7) {
  await using source = createSchemaSource({
    urls: [],
    authentication: null,
    tls: null,
    ...connection,
  });
  return await source.lookup(ref, never);
}

function outage(sentence: RegExp) {
  return { kind: "outage", error: expect.stringMatching(sentence) };
}

test("a GUID, and a path in the URL", async () => {
  await using registry = await registryStandIn(found);
  const guid = "0191b3c5-0000-7000-8000-000000000001";
  const url = registry.url.replace("127.0.0.1", "localhost");
  expect(await lookup({ urls: [`${url}/a/b/`] }, guid)).toEqual(FOUND);
  expect(registry.asked).toEqual([`GET /a/b/schemas/guids/${guid}`]);
  expect(registry.authorizations).toEqual([undefined]);
});

function html(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "text/html", location: `/${SECRET}` });
  response.end(`<title>Log in, ${SECRET}</title>`);
}

const OUTAGES: readonly (readonly [string, Responding, RegExp])[] = [
  ["a login page", (_, response) => html(response, 200), /with text\/html/],
  ["a redirect to it", (_, response) => html(response, 302), /redirects \(302\)/],
  [
    "401",
    (_, response) => respondWithJson(response, 401, { error_code: 40_101 }),
    /credentials \(401\)/,
  ],
  [
    "403",
    (_, response) => respondWithJson(response, 403, { error_code: 40_301 }),
    /permission to read/,
  ],
  ["404 of a proxy", (_, response) => html(response, 404), /the path in registry\.url/],
  ["502 of a proxy", (_, response) => html(response, 502), /responds 502/],
  [
    "half a body",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
      response.write('{"schema":');
      setImmediate(() => response.destroy());
    },
    /before its response was complete/,
  ],
  [
    "a closed connection",
    (request) => void request.socket.destroy(),
    /before its response was complete/,
  ],
  ["no HTTP", (request) => void request.socket.end("SSH-2.0-OpenSSH_9.2\r\n"), /not use HTTP/],
  [
    "compressed bytes that nobody asked for",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(Buffer.of(0x1f, 0x8b, 8, 0));
    },
    /not with a schema/,
  ],
];

test.each(OUTAGES)("an outage: %s", async (_, respond, sentence) => {
  await using registry = await registryStandIn(respond);
  const url = `${registry.url}/${SECRET}`;
  const authentication = { kind: "basic", username: "u", password: SECRET } as const;
  const outcome = await lookup({ urls: [url], authentication });
  expect(outcome).toMatchObject(outage(sentence));
  expect(JSON.stringify(outcome)).not.toContain(SECRET);
});

test("an outage: silence after half a response", async () => {
  await using registry = await registryStandIn((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"schema":');
  });
  expect(await lookup({ urls: [registry.url] })).toMatchObject(outage(/within 5 s/));
});

test("an outage: refused, and no such host", async () => {
  const refused = `http://127.0.0.1:${await freePort()}`;
  expect(await lookup({ urls: [refused] })).toMatchObject(outage(/refuses connections/));
  expect(await lookup({ urls: ["http://registry.invalid:1"] })).toMatchObject(outage(/host name/));
});

test("more than 1 MiB is not read", async () => {
  let written = 0;
  await using registry = await registryStandIn((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"schema":"');
    const more = () => {
      while (!response.destroyed && written < 200 * 1_048_576) {
        written += 65_536;
        if (!response.write("x".repeat(65_536))) return void response.once("drain", more);
      }
      response.end('"}');
    };
    more();
  });
  const error = "schema 7 is larger than 1 MiB, the maximum";
  expect(await lookup({ urls: [registry.url] })).toEqual({ kind: "unusable", error });
  expect(written).toBeLessThan(50 * 1_048_576);
});

test("the next URL responds for one that does not, and goes first from then on", async () => {
  await using down = await registryStandIn((_, response) => html(response, 503));
  await using up = await registryStandIn(found);
  await using source = createSchemaSource({
    urls: [down.url, up.url],
    authentication: null,
    tls: null,
  });
  expect(await source.lookup(7, never)).toEqual(FOUND);
  expect(await source.lookup(8, never)).toEqual(FOUND);
  expect(down.asked).toHaveLength(1);
  expect(up.asked).toHaveLength(2);
});

test("basic and bearer logins", async () => {
  await using registry = await registryStandIn(found);
  const urls = [registry.url];
  await lookup({ urls, authentication: { kind: "basic", username: "ü", password: "p:w" } });
  await lookup({ urls, authentication: { kind: "token", token: "t1" } });
  const basic = Buffer.from("ü:p:w").toString("base64");
  expect(registry.authorizations).toEqual([`Basic ${basic}`, "Bearer t1"]);
});

test("OAuth 2: a token for all lookups, another one when it is rejected", async () => {
  let tokens = 0;
  await using issuer = await registryStandIn((_, response) => {
    tokens += 1;
    respondWithJson(response, 200, { access_token: `t${tokens}`, expires_in: 3_600 });
  });
  await using registry = await registryStandIn((request, response) => {
    const isCurrent = request.headers.authorization === `Bearer t${tokens}` && tokens !== 1;
    if (isCurrent) found(request, response);
    else respondWithJson(response, 401, { error_code: 40_101 });
  });
  const authentication = {
    kind: "oauth",
    tokenUrl: `${issuer.url}/token`,
    clientId: "c",
    clientSecret: SECRET,
    scope: null,
  } as const;
  await using source = createSchemaSource({ urls: [registry.url], authentication, tls: null });
  expect(await source.lookup(7, never)).toMatchObject(outage(/credentials \(401\)/));
  expect(await source.lookup(7, never)).toEqual(FOUND);
  expect(await source.lookup(7, never)).toEqual(FOUND);
  expect(registry.authorizations).toEqual(["Bearer t1", "Bearer t2", "Bearer t2"]);
  expect(issuer.asked).toEqual(["POST /token", "POST /token"]);
});

test("a registry that rejects every token causes one more token request, not one for each lookup", async () => {
  await using issuer = await registryStandIn((_, response) =>
    respondWithJson(response, 200, { access_token: `t${issuer.asked.length}`, expires_in: 300 }),
  );
  await using registry = await registryStandIn((_, response) =>
    respondWithJson(response, 401, { error_code: 40_101 }),
  );
  const credentials = { tokenUrl: issuer.url, clientId: "c", clientSecret: SECRET, scope: null };
  const authentication = { kind: "oauth", ...credentials } as const;
  await using source = createSchemaSource({ urls: [registry.url], authentication, tls: null });
  for (let lookups = 0; lookups < 5; lookups += 1) await source.lookup(7, never);
  expect(registry.authorizations).toHaveLength(5);
  expect(issuer.asked).toHaveLength(2);
});

test("an outage: no token, so the registry is not asked", async () => {
  await using issuer = await registryStandIn((_, response) =>
    respondWithJson(response, 400, { error: "invalid_client", hint: SECRET }),
  );
  await using registry = await registryStandIn(found);
  const credentials = { tokenUrl: issuer.url, clientId: "c", clientSecret: SECRET, scope: null };
  const outcome = await lookup({
    urls: [registry.url],
    authentication: { kind: "oauth", ...credentials },
  });
  expect(outcome).toMatchObject(outage(/was not queried: No token from .*status 400/));
  expect(JSON.stringify(outcome)).not.toContain(SECRET);
  expect(registry.asked).toEqual([]);
});

test("an outage: the token endpoint is silent", async () => {
  await using issuer = await registryStandIn(() => undefined);
  const credentials = { tokenUrl: issuer.url, clientId: "c", clientSecret: "s", scope: null };
  const authentication = { kind: "oauth", ...credentials } as const;
  const outcome = await lookup({ urls: ["http://127.0.0.1:1"], authentication });
  expect(outcome).toMatchObject(outage(/was not queried: no token was received within 5 s/));
});

const CA = issue({ name: "ca", isCa: true });
const SERVER = issue({ name: "registry", hosts: ["127.0.0.1"], by: CA });
const CLIENT = issue({ name: "switchyard", by: CA });

function secured(certificate = SERVER): Promise<RegistryStandIn> {
  const { cert, key } = certificate;
  return registryStandIn(found, { cert, key, ca: CA.cert, requestCert: true });
}

test("TLS with a private CA and a certificate of ours, for the token endpoint too", async () => {
  const { cert, key } = CLIENT;
  const tls = { ca: CA.cert, cert, key };
  await using issuer = await registryStandIn(
    (_, response) => respondWithJson(response, 200, { access_token: "t1" }),
    { cert: SERVER.cert, key: SERVER.key },
  );
  await using registry = await secured();
  const credentials = { tokenUrl: issuer.url, clientId: "c", clientSecret: "s", scope: null };
  const authentication = { kind: "oauth", ...credentials } as const;
  expect(await lookup({ urls: [registry.url], tls, authentication })).toEqual(FOUND);
  expect(registry.authorizations).toEqual(["Bearer t1"]);
});

const LATE = new Date(Date.now() - 60_000);

test.each([
  ["of a CA that is not known", SERVER, null, /registry\.tls\.ca/],
  ["of another host", issue({ name: "x", hosts: ["10.0.0.1"], by: CA }), CA, /another host/],
  [
    "that has expired",
    issue({ name: "x", hosts: ["127.0.0.1"], by: CA, until: LATE }),
    CA,
    /expired/,
  ],
  ["of its own", issue({ name: "x", hosts: ["127.0.0.1"] }), CA, /registry\.tls\.ca/],
])("an outage: a certificate %s", async (_, certificate, ca, sentence) => {
  await using registry = await registryStandIn(found, certificate);
  const tls = ca && { ca: ca.cert, cert: null, key: null };
  expect(await lookup({ urls: [registry.url], tls })).toMatchObject(outage(sentence));
  expect(registry.asked).toEqual([]);
});

test("an outage: no certificate of ours, and https where there is none", async () => {
  await using registry = await secured();
  const tls = { ca: CA.cert, cert: null, key: null };
  const without = await lookup({ urls: [registry.url], tls });
  expect(without).toMatchObject(outage(/registry\.tls|before its response was complete/));
  expect(registry.asked).toEqual([]);
  await using plain = await registryStandIn(found);
  const wrong = plain.url.replace("http:", "https:");
  expect(await lookup({ urls: [wrong] })).toMatchObject(outage(/http or https/));
});

test("a lookup that is abandoned ends at once", async () => {
  const given = new AbortController();
  await using registry = await registryStandIn(() => given.abort());
  await using source = createSchemaSource({
    urls: [registry.url],
    authentication: null,
    tls: null,
  });
  expect((await source.lookup(7, given.signal)).kind).toBe("outage");
});

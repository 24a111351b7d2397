// OAuth 2 with a real identity server, oidc-provider: how it gets the credentials, and which tokens it issues and
// revokes.

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";

import type { OAuth2 } from "../../src/router/destinations/webhook/auth-settings.ts";
import { outcome } from "../support/servers/http-client.ts";
import { openedSender } from "../support/servers/opened-sender.ts";
import { respondingServer } from "../support/servers/token-server.ts";

/** The part of the package that is used; it has no types. */
interface Provider {
  callback(): RequestListener;
  readonly ClientCredentials: {
    find(token: string): Promise<{ destroy(): Promise<void>; readonly scope?: string } | undefined>;
  };
}
type ProviderClass = new (issuer: string, settings: object) => Provider;

const PACKAGE: string = "oidc-provider";
const RESOURCE = "https://receiver.example/";
/** A secret whose special characters are all encoded in one of the two forms. */
const SECRET = "a b+c%d:e/f&g=h~!*'()-012345";

const RSA = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" });
const PRIVATE = { "by-rsa": pem(RSA), "by-ec": pem(EC) } as const;

function pem({ privateKey }: typeof RSA): string {
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

async function identityServer() {
  const { default: OidcProvider } = (await import(PACKAGE)) as { default: ProviderClass };
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const client = (name: string, method: string) => ({
    ...{ client_id: name, client_secret: SECRET, token_endpoint_auth_method: method },
    ...{ grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
  });
  const signer = (name: string, alg: string, { publicKey }: typeof RSA) => ({
    ...client(name, "private_key_jwt"),
    jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), alg, kid: "k1" }] },
    token_endpoint_auth_signing_alg: alg,
  });
  const provider = new OidcProvider(url, {
    clients: [
      client("by:header", "client_secret_basic"),
      client("by-body", "client_secret_post"),
      signer("by-rsa", "RS256", RSA),
      signer("by-ec", "ES256", EC),
    ],
    scopes: ["events.write"],
    ttl: { ClientCredentials: 600 },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          ...{ scope: "events.write", audience: RESOURCE, accessTokenFormat: "jwt" },
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  server.on("request", provider.callback());
  return {
    ...{ url, provider },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function authOf(url: string, clientId: string, more: Partial<OAuth2> = {}): OAuth2 {
  const fixed = { type: "oauth2", scope: "events.write", credentialsIn: "header" } as const;
  const tokenUrl = `${url}/token`;
  const secret = { clientSecret: SECRET, privateKey: null, keyId: null };
  return { ...fixed, tokenUrl, clientId, ...secret, parameters: {}, ...more };
}

test.each([
  ["by:header", "header"],
  ["by-body", "body"],
] as const)(
  "client %s with its credentials in the %s: its token is valid, and is replaced when it is revoked",
  async (clientId, credentialsIn) => {
    await using id = await identityServer();
    const known: string[] = [];
    await using receiver = await respondingServer((response, { headers }) => {
      const token = headers.authorization?.replace("Bearer ", "") ?? "";
      void id.provider.ClientCredentials.find(token).then((found) => {
        if (found?.scope === "events.write") known.push(token);
        response.writeHead(found === undefined ? 401 : 200).end();
      });
    });
    const auth = authOf(id.url, clientId, { credentialsIn });
    await using crm = await openedSender({ auth, urls: [receiver.url] });
    await crm.changed;
    expect(crm.sender.readiness?.hold()).toBe(null);
    expect(outcome(await crm.post())).toBe(200);
    await (await id.provider.ClientCredentials.find(known[0] ?? ""))?.destroy();
    expect(outcome(await crm.post())).toBe(200);
    expect(new Set(known).size).toBe(2);
    expect(receiver.taken).toHaveLength(3);
  },
);

test("with a resource it issues a JWT for it", async () => {
  await using id = await identityServer();
  await using receiver = await respondingServer((response) => response.end());
  const auth = authOf(id.url, "by:header", { parameters: { resource: RESOURCE } });
  await using crm = await openedSender({ auth, urls: [receiver.url] });
  await crm.changed;
  expect(outcome(await crm.post())).toBe(200);
  const [, claims = ""] = receiver.taken[0]?.headers.authorization?.split(".") ?? [];
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
    aud: RESOURCE,
    iss: id.url,
    scope: "events.write",
  });
});

test.each(["by-rsa", "by-ec"] as const)(
  "client %s signs a JWT instead of a secret",
  async (name) => {
    await using id = await identityServer();
    await using receiver = await respondingServer((response) => response.end());
    const key = { clientSecret: null, privateKey: PRIVATE[name], keyId: "k1" };
    await using crm = await openedSender({ auth: authOf(id.url, name, key), urls: [receiver.url] });
    await crm.changed;
    expect(crm.sender.readiness?.hold()).toBe(null);
    expect(outcome(await crm.post())).toBe(200);
  },
);

test.each<readonly [string, Partial<OAuth2>, string]>([
  [
    "another client's private key",
    { clientId: "by-rsa", clientSecret: null, privateKey: PRIVATE["by-ec"] },
    "status 401, invalid_client",
  ],
  ["a wrong secret", { clientSecret: "wrong" }, "status 401, invalid_client"],
  ["an unknown resource", { parameters: { resource: "receiver" } }, "status 400, invalid_target"],
  ["another path", { tokenUrl: "/nowhere" }, "status 404"],
])("%s: no token, and the reason is shown", async (_name, more, error) => {
  await using id = await identityServer();
  const given = authOf(id.url, "by:header", more);
  const isPath = given.tokenUrl.startsWith("/");
  const auth = isPath ? { ...given, tokenUrl: id.url + given.tokenUrl } : given;
  await using crm = await openedSender({ auth, urls: ["http://localhost:1/"] });
  await crm.changed;
  expect(crm.sender.readiness?.hold()?.error).toBe(`No token from ${id.url}: ${error}`);
});

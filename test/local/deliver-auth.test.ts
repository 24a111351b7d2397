// Authentication of webhooks on real sockets: tokens, hostile token endpoints, TLS, and masked secrets.

import type { ServerResponse } from "node:http";
import { setTimeout as timer } from "node:timers/promises";
import { expect, test } from "vitest";

import type { Phases } from "../../src/router/destinations/port.ts";
import type { OAuth2, WebhookAuth } from "../../src/router/destinations/webhook/auth-settings.ts";
import { issue } from "../support/build/certificates.ts";
import { outcome } from "../support/servers/http-client.ts";
import { openedSender } from "../support/servers/opened-sender.ts";
import { rawServer } from "../support/servers/raw-server.ts";
import { json, type RespondingServer, respondingServer } from "../support/servers/token-server.ts";

const SECRET = "client-secret-x7";
const NEVER_MS = 500;

function oauth(server: Pick<RespondingServer, "url">, more: Partial<OAuth2> = {}): OAuth2 {
  return {
    type: "oauth2",
    tokenUrl: `${server.url}/token`,
    clientId: "switchyard",
    clientSecret: SECRET,
    scope: null,
    privateKey: null,
    keyId: null,
    credentialsIn: "header",
    parameters: {},
    ...more,
  };
}

/** Issues the tokens t1, t2, ... */
function issuing(response: ServerResponse, _request: unknown, earlier: number): void {
  json(response, 200, { access_token: `t${earlier + 1}`, token_type: "Bearer", expires_in: 60 });
}

const takes = (response: ServerResponse) => response.end("ok");
const headersOf = ({ taken }: RespondingServer) =>
  taken.map(({ headers }) => headers.authorization);

test("a token is requested once, in the form of RFC 6749, and sent with each request", async () => {
  await using id = await respondingServer(issuing);
  await using receiver = await respondingServer(takes);
  const auth = oauth(id, { scope: "a b", parameters: { audience: "https://api/" } });
  await using crm = await openedSender({ auth, urls: [receiver.url] });
  await crm.changed;
  for (let sent = 0; sent < 3; sent += 1) expect(outcome(await crm.post())).toBe(200);
  expect(headersOf(receiver)).toEqual(["Bearer t1", "Bearer t1", "Bearer t1"]);
  expect(id.taken).toHaveLength(1);
  expect(id.taken[0]?.body).toBe(
    "grant_type=client_credentials&audience=https%3A%2F%2Fapi%2F&scope=a+b",
  );
  expect(id.taken[0]?.headers).toMatchObject({
    "content-type": "application/x-www-form-urlencoded",
    authorization: `Basic ${Buffer.from(`switchyard:${SECRET}`).toString("base64")}`,
  });
});

test("a 401 fetches a new token and repeats the request once, and many need one request", async () => {
  await using id = await respondingServer(issuing);
  const receives = (
    response: ServerResponse,
    { headers }: { headers: Record<string, unknown> },
  ) => {
    response.statusCode = headers.authorization === "Bearer t1" ? 401 : 200;
    response.end("no");
  };
  await using receiver = await respondingServer((response, request) => receives(response, request));
  await using crm = await openedSender({ auth: oauth(id), urls: [receiver.url] });
  await crm.changed;
  const results = await Promise.all(Array.from({ length: 8 }, () => crm.post()));
  expect(results.map(outcome)).toEqual(Array(8).fill(200));
  expect(id.taken).toHaveLength(2);
  expect(receiver.taken).toHaveLength(16);
});

test("a second 401 is the result, and is retried later; a 403 is not repeated, and rejects", async () => {
  await using id = await respondingServer(issuing);
  await using receiver = await respondingServer((response, _request, earlier) => {
    response.statusCode = earlier < 2 ? 401 : 403;
    response.end();
  });
  await using crm = await openedSender({ auth: oauth(id), urls: [receiver.url] });
  await crm.changed;
  const [second, third] = [await crm.post(), await crm.post()];
  expect([outcome(second), outcome(third)]).toEqual([401, 403]);
  expect(headersOf(receiver)).toEqual(["Bearer t1", "Bearer t2", "Bearer t2"]);
  const judged = [second, third].map((result) => crm.sender.judge(result, 0).kind);
  expect(judged).toEqual(["retry", "rejected"]);
});

test("a token with a life of 1 s is replaced while calls are sent", async () => {
  await using id = await respondingServer((response, _request, earlier) => {
    json(response, 200, { access_token: `t${earlier + 1}`, expires_in: "1" });
  });
  await using receiver = await respondingServer(takes);
  await using crm = await openedSender({ auth: oauth(id), urls: [receiver.url] });
  await crm.changed;
  const endAtMs = Date.now() + 2_500;
  while (Date.now() < endAtMs) {
    if (crm.sender.readiness?.isReady() === true) expect(outcome(await crm.post())).toBe(200);
    await timer(10);
  }
  const tokens = new Set(headersOf(receiver));
  expect(tokens.size).toBeGreaterThanOrEqual(3);
  expect(id.taken.length).toBeLessThanOrEqual(4);
});

const BIG = "x".repeat(10_000_000);

test.each<readonly [name: string, respond: (response: ServerResponse) => void, error: string]>([
  ["HTML", (response) => response.end("<html>sign in</html>"), "status 200 without a JSON object"],
  [
    "10 MB",
    (response) => json(response, 200, { access_token: BIG }),
    "status 200 without a JSON object",
  ],
  [
    "a token, and then 10 MB of spaces",
    (response) => response.end(`{"access_token":"t"}${" ".repeat(10_000_000)}`),
    "status 200 without a JSON object",
  ],
  [
    "a redirect to a server with tokens",
    (response) => response.writeHead(307, { location: "/elsewhere" }).end(),
    "status 307",
  ],
  [
    "an error",
    (response) => json(response, 401, { error: "invalid_client" }),
    "status 401, invalid_client",
  ],
  ["an error with the secret", (response) => json(response, 400, { error: SECRET }), "status 400"],
  [
    "half a response",
    (response) => response.writeHead(200, { "content-length": 50 }).write("{"),
    "status 200 without",
  ],
  [
    "two headers in the token",
    (response) => json(response, 200, { access_token: "a\r\nb: c" }),
    "characters other than visible ASCII",
  ],
  ["nothing", (response) => response.socket?.destroy(), "no response, reset"],
])("a token endpoint that responds with %s gives no token", async (_name, respond, error) => {
  await using id = await respondingServer((response) => respond(response));
  await using receiver = await respondingServer(takes);
  await using crm = await openedSender({ auth: oauth(id), urls: [receiver.url] });
  await crm.changed;
  expect(crm.sender.readiness?.isReady()).toBe(false);
  const hold = crm.sender.readiness?.hold();
  expect(hold).toMatchObject({ reason: "token" });
  expect(hold?.error).toContain(`No token from ${id.url}: `);
  expect(hold?.error).toContain(error);
  expect(hold?.error).not.toContain(SECRET);
  expect(id.taken).toHaveLength(1);
  expect(receiver.taken).toEqual([]);
});

test("a token endpoint that never responds is given up after 5 s", async () => {
  await using id = await rawServer(() => undefined);
  const startedAtMs = Date.now();
  await using crm = await openedSender({ auth: oauth(id), urls: ["http://localhost:1/"] });
  await crm.changed;
  expect(Date.now() - startedAtMs).toBeGreaterThan(4_900);
  expect(crm.sender.readiness?.hold()?.error).toContain("no response, timeout");
  expect(id.connections()).toBe(1);
});

test("a token endpoint at a private address is not requested", async () => {
  await using id = await respondingServer(issuing);
  const crm = await openedSender({ auth: oauth(id), urls: ["http://localhost:1/"] }, { allow: [] });
  await crm.changed;
  expect(crm.sender.readiness?.hold()?.error).toContain("no response, address");
  expect(id.taken).toEqual([]);
  await crm[Symbol.asyncDispose]();
});

const ca = issue({ name: "private CA", isCa: true });
const otherCa = issue({ name: "other CA", isCa: true });
const server = issue({ name: "server", hosts: ["localhost"], by: ca });
const client = issue({ name: "switchyard", by: ca });
const TLS = { key: server.key, cert: server.cert };
const MUTUAL = { ...TLS, ca: ca.cert, requestCert: true, rejectUnauthorized: true };

test("with mTLS the token endpoint and the endpoint get the client certificate, and the token", async () => {
  await using id = await respondingServer(issuing, MUTUAL);
  await using receiver = await respondingServer(takes, MUTUAL);
  const tls = { ca: ca.cert, cert: client.cert, key: client.key };
  await using crm = await openedSender({ auth: oauth(id), urls: [receiver.url], tls });
  await crm.changed;
  expect(outcome(await crm.post())).toBe(200);
  expect([id.taken[0]?.client, receiver.taken[0]?.client]).toEqual([
    "CN=switchyard",
    "CN=switchyard",
  ]);
  expect(headersOf(receiver)).toEqual(["Bearer t1"]);
});

test.each([
  ["a private CA of all destinations is trusted", ca.cert, null],
  ["an unknown CA is not", null, "no response, tls-unknown-ca"],
  ["another CA is not", otherCa.cert, "no response, tls"],
])("token endpoint: %s", async (_name, trusted, error) => {
  await using id = await respondingServer(issuing, TLS);
  await using crm = await openedSender(
    { auth: oauth(id), urls: ["http://localhost:1/"] },
    { ca: trusted },
  );
  await crm.changed;
  const hold = crm.sender.readiness?.hold();
  if (error === null) expect(hold).toBe(null);
  else expect(hold?.error).toContain(error);
  expect(id.taken).toHaveLength(error === null ? 1 : 0);
});

test.each<readonly [auth: WebhookAuth, header: string]>([
  [{ type: "basic", username: "u", password: "päss:word-1" }, "Basic dTpww6Rzczp3b3JkLTE="],
  [{ type: "bearer", token: "fixed-token-0001" }, "Bearer fixed-token-0001"],
])(
  "with %j the header is sent, a 401 is not repeated, and is retried later",
  async (auth, header) => {
    await using receiver = await respondingServer((response) => response.writeHead(401).end());
    await using crm = await openedSender({ auth, urls: [receiver.url] });
    const result = await crm.post();
    expect(headersOf(receiver)).toEqual([header]);
    expect(crm.sender.judge(result, 0)).toEqual({ kind: "retry", retryAfterMs: null });
  },
);

test("what an endpoint returns of the authentication is masked", async () => {
  const token = `eyJ${"a1b2c3d4".repeat(20)}`;
  await using id = await respondingServer((response) =>
    json(response, 200, { access_token: token }),
  );
  await using receiver = await respondingServer((response, { headers }) => {
    response.writeHead(500).end(`${JSON.stringify(headers)} ${SECRET}`);
  });
  await using crm = await openedSender({ auth: oauth(id), urls: [receiver.url] });
  await crm.changed;
  for (const keepBytes of [4_096, 200]) {
    const phases: Phases = { keepBytes };
    await crm.post(phases);
    const kept = Buffer.concat(phases.kept ?? []).toString();
    expect(kept).toContain("Bearer ***");
    expect(kept).not.toContain(token.slice(0, 4));
    expect(kept).not.toContain(SECRET.slice(0, 12));
  }
});

test("once closed, nothing more is requested", async () => {
  await using id = await respondingServer((response) => json(response, 500, {}));
  const crm = await openedSender({ auth: oauth(id), urls: ["http://localhost:1/"] });
  await crm.changed;
  await crm[Symbol.asyncDispose]();
  const requests = id.taken.length;
  await timer(1_000 + NEVER_MS);
  expect(id.taken).toHaveLength(requests);
});

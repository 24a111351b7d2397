import { generateKeyPairSync, verify } from "node:crypto";
import { beforeEach, expect, test } from "vitest";

import {
  paceOf,
  readToken,
  SharedToken,
  TokenError,
  TokenPace,
  type TokenResult,
  tokenRequest,
  tokenSource,
} from "../../../../src/base/runtime/oauth-token.ts";
import type { CredentialRequest } from "../../../../src/base/runtime/request-credentials.ts";

const CREDENTIALS = {
  tokenUrl: "https://id.example/token",
  clientId: "switchyard",
  clientSecret: "s3cr:t",
  scope: "kafka",
} as const;

let nowMs = 0;
let requests: CredentialRequest[] = [];
let responses: (() => Response | Promise<Response>)[] = [];
const clock = { nowMs: () => nowMs, sleep: () => Promise.resolve() };

beforeEach(() => {
  nowMs = 0;
  requests = [];
  responses = [];
});

async function respond(request: CredentialRequest) {
  requests.push(request);
  const next = responses.shift();
  if (next === undefined) throw new Error("no response is left");
  const response = await next();
  const { status, headers } = response;
  return { status, retryAfter: headers.get("retry-after"), body: await response.text() };
}

function token(text: string, expiresIn?: number): () => Response {
  return () => Response.json({ access_token: text, expires_in: expiresIn });
}

test("asks by client credentials, with the secret in the header", async () => {
  responses = [token("t1", 100)];
  expect(await tokenSource(CREDENTIALS, clock, respond).token()).toBe("t1");
  const [request] = requests;
  expect(request?.url).toBe(CREDENTIALS.tokenUrl);
  expect(request?.method).toBe("POST");
  expect(`${request?.body}`).toBe("grant_type=client_credentials&scope=kafka");
  const authorization = request?.headers.authorization ?? "";
  const basic = Buffer.from(authorization.slice("Basic ".length), "base64").toString();
  expect(basic).toBe("switchyard:s3cr%3At");
});

test("connections share a request and a token, which is renewed after four fifths of its life", async () => {
  responses = [token("t1", 100), token("t2")];
  const { token: source } = tokenSource({ ...CREDENTIALS, scope: null }, clock, respond);
  expect(await Promise.all([source(), source(), source()])).toEqual(["t1", "t1", "t1"]);
  nowMs = 79_999;
  expect(await source()).toBe("t1");
  nowMs = 80_000;
  expect(await source()).toBe("t2");
  expect(requests).toHaveLength(2);
});

test("a token that was fetched by a clock which was set back since then is fetched again", async () => {
  responses = [token("t1", 100), token("t2", 100)];
  const { token: source } = tokenSource(CREDENTIALS, clock, respond);
  nowMs = 3_600_000;
  expect(await source()).toBe("t1");
  nowMs = 0;
  expect(await source()).toBe("t2");
  expect(await source()).toBe("t2");
});

test.each([
  ["a refusal", () => Response.json({ error: "invalid_client" }, { status: 401 }), /status 401/],
  ["no token", () => Response.json({}), /without access_token/],
  ["no JSON", () => new Response("<html>"), /without a JSON object/],
  ["no response", () => Promise.reject(new Error("ECONNREFUSED")), /ECONNREFUSED/],
])(
  "%s is an outage, without the secret in its text; the next call asks again",
  async (_name, bad, text) => {
    responses = [bad, token("t1")];
    const { token: source } = tokenSource(CREDENTIALS, clock, respond);
    const failed = source();
    await expect(failed).rejects.toBeInstanceOf(TokenError);
    await expect(failed).rejects.toThrow(text);
    await expect(failed).rejects.not.toThrow("s3cr");
    expect(await source()).toBe("t1");
  },
);

test("the ID and the secret may be in the form, with more fields", () => {
  const credentials = {
    ...CREDENTIALS,
    credentialsIn: "body",
    parameters: { audience: "https://api.example/" },
  } as const;
  const { headers, form } = tokenRequest(credentials, 0, "id");
  expect(headers).toEqual({ accept: "application/json" });
  expect(Object.fromEntries(form)).toEqual({
    grant_type: "client_credentials",
    audience: "https://api.example/",
    scope: "kafka",
    client_id: "switchyard",
    client_secret: "s3cr:t",
  });
});

test.each([
  ["RS256", generateKeyPairSync("rsa", { modulusLength: 2_048 })],
  ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
])("a private key signs a JWT for the token endpoint: %s", (alg, { privateKey, publicKey }) => {
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const credentials = { ...CREDENTIALS, clientSecret: null, privateKey: pem, keyId: "k1" };
  const { headers, form } = tokenRequest(credentials, 1_700_000_000_900, "id-1");
  expect(headers).toEqual({ accept: "application/json" });
  const { client_assertion: jwt = "", ...others } = Object.fromEntries(form);
  expect(others).toEqual({
    grant_type: "client_credentials",
    scope: "kafka",
    client_id: "switchyard",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  });
  const [header = "", claims = "", signature = ""] = jwt.split(".");
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as unknown;
  expect(read(header)).toEqual({ alg, typ: "JWT", kid: "k1" });
  expect(read(claims)).toEqual({
    ...{ iss: "switchyard", sub: "switchyard", aud: CREDENTIALS.tokenUrl, jti: "id-1" },
    ...{ iat: 1_700_000_000, exp: 1_700_000_060 },
  });
  const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  const signed = Buffer.from(`${header}.${claims}`);
  expect(verify("sha256", signed, key, Buffer.from(signature, "base64url"))).toBe(true);
});

test.each([
  ["absent", {}, 300],
  ["null", { expires_in: null }, 300],
  ["zero", { expires_in: 0 }, 300],
  ["negative", { expires_in: -5 }, 300],
  ["a word", { expires_in: "soon" }, 300],
  ["an empty string", { expires_in: "" }, 300],
  ["a negative string", { expires_in: "-5" }, 300],
  ["a list", { expires_in: [60] }, 300],
  ["a number", { expires_in: 60 }, 60],
  ["a string of digits", { expires_in: "3600" }, 3_600],
  ["a string with a fraction", { expires_in: "59.5" }, 59.5],
  ["one second", { expires_in: 1 }, 1],
  ["less than one second", { expires_in: 0.001 }, 1],
  ["more than a day", { expires_in: 86_401 }, 86_400],
  ["far more than a day, as a string", { expires_in: "99999999999999999999" }, 86_400],
])("expires_in: %s", (_name, fields, lifeS) => {
  const text = JSON.stringify({ access_token: "t1", ...fields });
  expect(readToken(200, text)).toEqual({ kind: "token", token: "t1", lifeMs: lifeS * 1_000 });
});

test.each([
  ["empty", { access_token: "" }],
  ["a number", { access_token: 5 }],
  ["absent", { token: "t1" }],
  ["with a space", { access_token: "t 1" }],
  ["with a line break", { access_token: "t1\r\nX-Admin: 1" }],
  ["not ASCII", { access_token: "tö" }],
  ["over 64 KiB", { access_token: "t".repeat(65_537) }],
])("an access_token that is %s is not a token", (_name, body) => {
  expect(readToken(200, JSON.stringify(body)).kind).toBe("none");
});

test("64 KiB of visible ASCII are a token", () => {
  const token = "~".repeat(65_536);
  expect(readToken(200, JSON.stringify({ access_token: token }))).toMatchObject({ token });
});

test.each([
  [200, "<html>", "status 200 without a JSON object"],
  [200, '["t1"]', "status 200 without a JSON object"],
  [200, "null", "status 200 without a JSON object"],
  [302, "", "status 302"],
  [201, '{"access_token":"t1"}', "status 201"],
  [401, '{"error":"invalid_client"}', "status 401, invalid_client"],
  [400, '{"error":"s3cr:t"}', "status 400"],
])(
  "status %i with %s: there is no token, and the reason quotes nothing unknown",
  (status, text, why) => {
    expect(readToken(status, text)).toEqual({ kind: "none", why });
  },
);

function sharing(...results: TokenResult[]) {
  const pace = new TokenPace();
  return new SharedToken(
    async () => results.shift() ?? { kind: "none", why: "over" },
    clock,
    () => pace,
  );
}

function of(text: string, lifeMs: number): TokenResult {
  return { kind: "token", token: text, lifeMs };
}

test("in the last fifth of its life a token can still be used", async () => {
  const shared = sharing(of("t1", 100), of("t2", 100));
  expect([shared.current(), shared.fresh()]).toEqual([null, null]);
  await Promise.all([shared.renew(), shared.renew()]);
  nowMs = 79;
  expect([shared.current(), shared.fresh()]).toEqual(["t1", "t1"]);
  nowMs = 99;
  expect([shared.current(), shared.fresh()]).toEqual(["t1", null]);
  nowMs = 100;
  expect(shared.current()).toBe(null);
  await shared.renew();
  expect(shared.current()).toBe("t2");
});

test("a rejected token may be replaced at once, its replacement after 10 s; both stay in use", async () => {
  const shared = sharing(of("t1", 100_000), of("t2", 100_000));
  await shared.renew();
  shared.reject("t0");
  expect(shared.fresh()).toBe("t1");
  shared.reject("t1");
  expect([shared.current(), shared.fresh()]).toEqual(["t1", null]);
  await shared.renew();
  shared.reject("t2");
  nowMs = 9_999;
  expect([shared.current(), shared.fresh()]).toEqual(["t2", "t2"]);
  nowMs = 10_000;
  expect([shared.current(), shared.fresh()]).toEqual(["t2", null]);
});

test("a pace belongs to a token endpoint and a client ID, whatever the scope", () => {
  const pace = paceOf({ ...CREDENTIALS, clientId: "paced" });
  pace.wait(nowMs, 9_000_000);
  expect(paceOf({ ...CREDENTIALS, clientId: "paced", scope: "x" } as never).waitMs(nowMs)).toBe(
    3_600_000,
  );
  expect(paceOf({ ...CREDENTIALS, clientId: "other" }).waitMs(nowMs)).toBe(0);
  nowMs = -1;
  expect(pace.waitMs(nowMs)).toBe(0);
});

test("while a request fails, a source uses the token until its life is over, and keeps Retry-After", async () => {
  const busy = () => new Response("", { status: 429, headers: { "retry-after": "5" } });
  responses = [token("t1", 100), busy, token("t2", 100)];
  const source = tokenSource({ ...CREDENTIALS, clientId: "limited" }, clock, respond);
  await source.token();
  source.reject("t1");
  expect(await source.token()).toBe("t1");
  nowMs = 4_999;
  expect(await source.token()).toBe("t1");
  expect(requests).toHaveLength(2);
  nowMs = 5_000;
  expect(await source.token()).toBe("t2");
});

test("a secret that is no text is sent all the same, so that the endpoint rejects it", () => {
  const { headers } = tokenRequest({ ...CREDENTIALS, clientSecret: "\ud800" }, 0);
  const pair = Buffer.from((headers.authorization ?? "").slice("Basic ".length), "base64");
  expect(pair.toString()).toBe("switchyard:%EF%BF%BD");
});

// A test for each row of the table in access.ts, and the cookie.

import { expect, test } from "vitest";

import {
  type AccessRequest,
  type AccessRules,
  accessOf,
  COOKIE,
  isLoopback,
  isToken,
  senderOf,
  sessionCookie,
  sessionOf,
} from "../../../../src/operator/console/access.ts";

const TOKEN = "0123456789abcdef-secret";
const NOW = Date.parse("2026-03-01T09:00:00Z");
const OPEN: AccessRules = { token: null, readOnly: true };
const GUARDED = { token: TOKEN, readOnly: true };

function asked(
  over: Partial<AccessRequest> & { headers?: AccessRequest["headers"] } = {},
): AccessRequest {
  const { headers = {}, ...rest } = over;
  return { method: "GET", kind: "data", ...rest, headers: { host: "localhost:9465", ...headers } };
}

function statusOf(given: AccessRequest, rules = OPEN): number {
  const access = accessOf(given, rules, NOW);
  return access.kind === "allowed" ? 200 : access.status;
}

test.each([
  ["localhost:9465", 200],
  ["LOCALHOST", 200],
  ["127.0.0.1:80", 200],
  ["127.8.8.8", 200],
  ["[::1]:9465", 200],
  ["attacker.example", 421],
  ["127.0.0.1.attacker.example", 421],
  ["localhost.attacker.example:9465", 421],
  ["10.0.0.8:9465", 421],
  ["", 421],
])("without a token, the host %s gets %i", (host, status) => {
  expect(statusOf(asked({ headers: { host } }))).toBe(status);
});

test("a host beyond this machine is one, and others are not", () => {
  const hosts = ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "10.1.1.1", "host-1"];
  expect(hosts.filter(isLoopback)).toEqual(["127.0.0.1", "::1", "localhost"]);
});

const POST = { method: "POST", kind: "session" } as const;
const OWN = { "x-switchyard-console": "1" };

test.each([
  ["no header of ours", {}, 403],
  ["our header, from no browser", OWN, 200],
  ["our header and origin", { ...OWN, origin: "http://localhost:9465" }, 200],
  ["another origin", { ...OWN, origin: "https://attacker.example" }, 403],
  ["another port of this machine", { ...OWN, origin: "http://localhost:8080" }, 403],
  ["no origin that one can read", { ...OWN, origin: "null" }, 403],
  ["another site", { ...OWN, "sec-fetch-site": "cross-site" }, 403],
  ["a neighbour of the site", { ...OWN, "sec-fetch-site": "same-site" }, 403],
  ["the same site", { ...OWN, "sec-fetch-site": "same-origin" }, 200],
])("a change with %s gets its status", (_, headers, status) => {
  expect(statusOf(asked({ ...POST, headers }))).toBe(status);
});

test("DELETE is a change, too", () => {
  expect(statusOf(asked({ ...POST, method: "DELETE" }))).toBe(403);
});

test("with a token, data needs it; the page itself is the same for everybody", () => {
  expect(statusOf(asked(), GUARDED)).toBe(401);
  expect(accessOf(asked({ kind: "page" }), GUARDED, NOW)).toEqual({
    kind: "allowed",
    isKnown: false,
  });
  const bearer = (token: string) => asked({ headers: { authorization: `Bearer ${token}` } });
  expect(statusOf(bearer(TOKEN), GUARDED)).toBe(200);
  expect(statusOf(bearer(`${TOKEN}x`), GUARDED)).toBe(401);
  expect(statusOf(bearer(TOKEN.slice(1)), GUARDED)).toBe(401);
});

test("with a token, any name of the host is taken: a foreign one has no cookie", () => {
  const headers = { host: "switchyard.example", authorization: `Bearer ${TOKEN}` };
  expect(statusOf(asked({ headers }), GUARDED)).toBe(200);
});

function withCookie(cookie: string): AccessRequest {
  return asked({ headers: { cookie: `theme=dark; ${cookie.split(";", 1)}; other=1` } });
}

test("the cookie lets in until its end, for its token alone, unchanged", () => {
  const cookie = sessionCookie(TOKEN, NOW, {}, "a1");
  expect(statusOf(withCookie(cookie), GUARDED)).toBe(200);
  expect(cookie).not.toContain(TOKEN);
  expect(statusOf(withCookie(cookie), { ...GUARDED, token: `${TOKEN}2` })).toBe(401);
  const late = NOW + 12 * 3_600_000;
  expect(accessOf(withCookie(cookie), GUARDED, late).kind).toBe("rejected");
  const [, ends = "", seal = ""] = /=(\d+)\.a1\.(\w+);/.exec(cookie) ?? [];
  expect(statusOf(withCookie(`${COOKIE}=${Number(ends) + 9}.a1.${seal}`), GUARDED)).toBe(401);
  expect(statusOf(withCookie(`${COOKIE}=${ends}.a1.${seal.slice(1)}0`), GUARDED)).toBe(401);
  expect(statusOf(withCookie(`${COOKIE}=${ends}.a2.${seal}`), GUARDED)).toBe(401);
  expect(statusOf(withCookie(`${COOKIE}=${ends}.${seal}`), GUARDED)).toBe(401);
  expect(statusOf(withCookie(`${COOKIE}=`), GUARDED)).toBe(401);
});

test("the cookie is for no script, and for no other site", () => {
  const flags = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200";
  const cookie = (proto?: string) => sessionCookie(TOKEN, NOW, { "x-forwarded-proto": proto }, "a");
  for (const proto of [undefined, "", "http", "http, https", ",https", "xhttps"]) {
    expect(cookie(proto)).toMatch(new RegExp(`${flags}$`));
  }
  for (const proto of ["https", "https, http", "HTTPS,http", " https ,https"]) {
    expect(cookie(proto)).toMatch(new RegExp(`${flags}; Secure$`));
  }
});

test("a session that was ended lets nobody in, and ends no other, not even of the same second", () => {
  const [one, other] = ["a1", "a2"].map((id) => withCookie(sessionCookie(TOKEN, NOW, {}, id)));
  if (one === undefined || other === undefined) throw new Error("there are two");
  const session = sessionOf(TOKEN, one.headers, NOW, new Map());
  const ended = new Map([[session ?? "", 0]]);
  expect(accessOf(one, GUARDED, NOW, ended)).toMatchObject({ status: 401 });
  expect(accessOf(other, GUARDED, NOW, ended).kind).toBe("allowed");
  expect(sessionOf(TOKEN, one.headers, NOW, ended)).toBeNull();
});

test("an action needs more than being known", () => {
  const headers = { ...OWN, authorization: `Bearer ${TOKEN}` };
  const action = asked({ method: "POST", kind: "action", headers });
  expect(statusOf(action, GUARDED)).toBe(403);
  expect(statusOf(action, { ...GUARDED, readOnly: false })).toBe(200);
});

test("a sender is known by the way it was let in, and by its address", () => {
  const from = "10.0.0.8";
  expect(senderOf({ authorization: "Bearer x" }, GUARDED, from)).toEqual({ by: "token", from });
  expect(senderOf({ cookie: "x" }, GUARDED, from)).toEqual({ by: "session", from });
  const proxied = { "x-forwarded-for": `10.1.2.3${" ".repeat(300)}` };
  expect(senderOf(proxied, OPEN, from)).toMatchObject({
    by: "no token required",
    forwardedFor: expect.stringMatching(/^10\.1\.2\.3 {192}$/),
  });
});

test("tokens of any length are compared", () => {
  expect(isToken("", TOKEN)).toBe(false);
  expect(isToken(TOKEN, TOKEN)).toBe(true);
});

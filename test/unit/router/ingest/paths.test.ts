// Paths of requests, and the responses to pages from other origins.

import { expect, test } from "vitest";
import { CALL_TYPES } from "../../../../src/domain/call.ts";
import { askedFor } from "../../../../src/router/ingest/paths.ts";
import { corsHeaders } from "../../../../src/router/ingest/respond.ts";

const inBody = { query: null, isPixel: false };

test.each([
  ...["/v1/batch", "/v1/import", "/v1/b", "//v1/batch", "/v1//batch", "/v1/batch/"],
  "/v1/batch?a=/b/",
])("POST %s brings many calls", (path) => {
  expect(askedFor("POST", path)).toEqual({ kind: "calls", type: null, ...inBody });
});

test.each(CALL_TYPES)("POST /v1/%s brings one", (type) => {
  const expected = { kind: "calls", type, ...inBody };
  expect(askedFor("POST", `/v1/${type}`)).toEqual(expected);
  expect(askedFor("POST", `/v1/${type.charAt(0)}`)).toEqual(expected);
  expect(askedFor("POST", `http://ingest.example.com//v1/${type}/`)).toEqual(expected);
});

test.each(CALL_TYPES)("GET /pixel/v1/%s brings one in its query", (type) => {
  expect(askedFor("GET", `/pixel/v1/${type}?writeKey=k&a.b=1`)).toEqual({
    kind: "calls",
    type,
    isPixel: true,
    query: new URLSearchParams({ writeKey: "k", "a.b": "1" }),
  });
});

test("a beacon has its key in the query", () => {
  const query = new URLSearchParams({ writeKey: "k" });
  const asked = { kind: "calls", type: null, isPixel: false, query };
  expect(askedFor("POST", "/beacon/v1/batch?writeKey=k")).toEqual(asked);
});

test.each([
  ["/v1/projects/k%20e/settings?x=1", "segment", "k e", "x=1"],
  ["/v1/projects/%zz/settings", "segment", "%zz", ""],
  ["/sourceConfig/?writeKey=k", "rudderstack", null, "writeKey=k"],
])("GET %s asks for settings", (url, of, writeKey, query) => {
  const asked = { kind: "settings", of, writeKey, query: new URLSearchParams(query) };
  expect(askedFor("GET", url)).toEqual(asked);
});

test.each([
  ["GET", "/v1/health", { kind: "health" }],
  ["HEAD", "/v1/health/", { kind: "health" }],
  ["GET", "/health", { kind: "health" }],
  ["POST", "/v1/m", { kind: "rejected", of: "metrics" }],
  ["POST", "/v1/merge", { kind: "rejected", of: "merge" }],
  ["GET", "/v1/merge", { kind: "wrong-method", allow: "POST, OPTIONS" }],
  ["POST", "/pixel/v1/track", { kind: "wrong-method", allow: "GET, HEAD, OPTIONS" }],
  ["GET", "/pixel/v1/delete", { kind: "unknown-path" }],
  ["GET", "/v1/projects/settings", { kind: "unknown-path" }],
  ["POST", "/v1/health", { kind: "wrong-method", allow: "GET, HEAD, OPTIONS" }],
  ["GET", "/v1/batch", { kind: "wrong-method", allow: "POST, OPTIONS" }],
  ["PUT", "/v1/track", { kind: "wrong-method", allow: "POST, OPTIONS" }],
  ["OPTIONS", "/v1/batch", { kind: "options" }],
  ["OPTIONS", "*", { kind: "options" }],
  ["POST", "/v1/Batch", { kind: "unknown-path" }],
  ["POST", "/v1/delete", { kind: "unknown-path" }],
  ["POST", "/v1/batch/x", { kind: "unknown-path" }],
  ["POST", "/", { kind: "unknown-path" }],
  ["POST", "", { kind: "unknown-path" }],
  ["POST", "/v1/__proto__", { kind: "unknown-path" }],
])("%s %s", (method, url, expected) => {
  expect(askedFor(method, url)).toEqual(expected);
});

const PAGE = "https://app.example.com";

test("no origins: no header", () => {
  expect(corsHeaders(new Set(), PAGE, undefined)).toEqual([]);
});

test("an origin of the list gets permission, others get nothing", () => {
  const origins = new Set([PAGE]);
  const reported = Object.fromEntries(corsHeaders(origins, PAGE, "content-type,AnonymousId"));
  expect(reported).toMatchObject({
    vary: "origin",
    "access-control-allow-origin": PAGE,
    "access-control-allow-headers": "content-type,AnonymousId",
  });
  expect(reported).not.toHaveProperty("access-control-allow-credentials");
  expect(corsHeaders(origins, "https://evil.example.com", undefined)).toEqual([["vary", "origin"]]);
  expect(corsHeaders(origins, undefined, undefined)).toEqual([["vary", "origin"]]);
});

test("any origin is any origin, and strange header lists are not repeated", () => {
  const reported = Object.fromEntries(corsHeaders(new Set(["*"]), PAGE, "a\r\nset-cookie: x"));
  expect(reported["access-control-allow-origin"]).toBe("*");
  expect(reported["access-control-allow-headers"]).toBe(
    "authorization, content-type, content-encoding",
  );
});

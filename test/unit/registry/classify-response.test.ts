// The table in the header of classify-response.ts, with a test for each row.

import { expect, test } from "vitest";
import { classifySchema } from "../../../src/registry/classify-response.ts";
import type { Exchanged } from "../../../src/registry/registry-request.ts";

const URL = "https://registry.example:8081/secret-path/schemas/ids/7";
const JSON_TYPE = "application/vnd.schemaregistry.v1+json";

function responseOf(status: number, body: unknown, contentType = JSON_TYPE): Exchanged {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { kind: "response", status, contentType, body: text };
}

function judge(exchanged: Exchanged) {
  return classifySchema(exchanged, URL, "schema 7");
}

test.each([
  [{ schema: '"string"' }, "AVRO", []],
  [{ schema: "{}", schemaType: "JSON", references: [] }, "JSON", []],
  [
    { schema: "{}", references: [{ name: "a.B", subject: "b", version: 2, more: 1 }] },
    "AVRO",
    [{ name: "a.B", subject: "b", version: 2 }],
  ],
])("a schema is found: %j", (body, type, references) => {
  expect(judge(responseOf(200, body))).toEqual({
    kind: "found",
    type,
    text: body.schema,
    references,
  });
});

test.each([40_401, 40_402, 40_403])("404 with code %d: the registry does not know it", (code) => {
  expect(judge(responseOf(404, { error_code: code, message: "no" }))).toEqual({
    kind: "unknown",
    error: "the schema registry does not have schema 7",
  });
});

test("a schema that is too large is unusable; another response that is too large is no response", () => {
  const large = { kind: "too-large", status: 200, contentType: JSON_TYPE } as const;
  expect(judge(large).kind).toBe("unusable");
  expect(judge({ ...large, contentType: "application/json;charset=utf-8" }).kind).toBe("unusable");
  expect(judge({ ...large, contentType: "text/html" }).kind).toBe("unavailable");
  expect(judge({ ...large, status: 404 }).kind).toBe("unavailable");
});

const HTML = "<!doctype html><title>Log in with hunter2</title>";

const OUTAGES: readonly (readonly [string, Exchanged, RegExp])[] = [
  ["HTML", responseOf(200, HTML, "text/html; charset=utf-8"), /text\/html.*registry\.url/],
  ["HTML as JSON", responseOf(200, HTML), /not with a schema/],
  ["JSON without a schema", responseOf(200, { id: 7 }), /not with a schema/],
  ["a schema that is no text", responseOf(200, { schema: {} }), /not with a schema/],
  ["a schema that is null", responseOf(200, { schema: null }), /not with a schema/],
  ["422", responseOf(422, { error_code: 42_201 }), /responds 422/],
  ["references that are none", responseOf(200, { schema: "{}", references: [{}] }), /not with a/],
  ["a list", responseOf(200, ["hunter2"]), /not with a schema/],
  ["a content type that is none", responseOf(200, "", "\u001b[2Jhunter2"), /with something, not/],
  ["204", responseOf(204, ""), /responds 204, a status that no schema registry uses/],
  [
    "404 of a path",
    responseOf(404, { error_code: 404, message: "HTTP 404" }),
    /the path in registry/,
  ],
  ["404 of a proxy", responseOf(404, HTML, "text/html"), /the path in registry\.url/],
  ["404 without a body", responseOf(404, ""), /the path in registry\.url/],
  ["400 with the code of an unknown one", responseOf(400, { error_code: 40_403 }), /responds 400/],
  ["a redirect", responseOf(302, ""), /redirects \(302\)/],
  ["401", responseOf(401, { error_code: 40_101 }), /the credentials \(401\).*registry\.username/],
  ["403", responseOf(403, { error_code: 40_301 }), /forbids.*permission to read/],
  ["407", responseOf(407, ""), /proxy/],
  ["429", responseOf(429, { error_code: 42_901 }), /rate limit/],
  ["500", responseOf(500, { error_code: 50_001 }), /responds 500/],
  ["503 of a proxy", responseOf(503, HTML, "text/html"), /responds 503/],
  ["silence", { kind: "timeout" }, /within 5 s/],
  ["no token", { kind: "no-token", error: "No token from https://id: status 400." }, /No token/],
  ["refused", { kind: "failed", code: "ECONNREFUSED" }, /refuses connections/],
  ["no such host", { kind: "failed", code: "ENOTFOUND" }, /host name/],
  ["cut short", { kind: "failed", code: "UND_ERR_SOCKET" }, /before its response was complete/],
  ["reset", { kind: "failed", code: "ECONNRESET" }, /before its response was complete/],
  ["expired", { kind: "failed", code: "CERT_HAS_EXPIRED" }, /expired/],
  ["wrong host", { kind: "failed", code: "ERR_TLS_CERT_ALTNAME_INVALID" }, /another host/],
  ["unknown CA", { kind: "failed", code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }, /registry\.tls\.ca/],
  ["no TLS", { kind: "failed", code: "ERR_SSL_WRONG_VERSION_NUMBER" }, /http or https/],
  ["other TLS", { kind: "failed", code: "ERR_SSL_SOMETHING" }, /ERR_SSL_SOMETHING.*registry\.tls/],
  ["no HTTP", { kind: "failed", code: "HPE_INVALID_CONSTANT" }, /does not use HTTP/],
  ["any other error", { kind: "failed", code: "EWHATEVER" }, /EWHATEVER/],
  ["an error without a code", { kind: "failed", code: null }, /no code/],
];

/** The rows that never depend on the schema. All others are outages only if the registry does not respond otherwise. */
const CERTAIN = ["401", "407", "429", "no token"];

test.each(OUTAGES)("no schema: %s", (name, exchanged, sentence) => {
  const classified = judge(exchanged);
  expect(classified.kind).toBe(CERTAIN.includes(name) ? "outage" : "unavailable");
  const error = "error" in classified ? classified.error : "";
  expect(error).toMatch(sentence);
  expect(error).toMatch(/^https:\/\/registry\.example:8081 /);
  // Paths, bodies and headers may contain secrets.
  expect(error).not.toMatch(/secret-path|hunter2|\n/);
});

// Each origin that a configuration accepts gets the headers, and only the headers of its kind.

import { expect, test } from "vitest";
import { corsHeaders } from "../../../../src/router/ingest/respond.ts";
import { config, problems, SMALL } from "../../../support/build/config-source.ts";

function allowed(entry: string, origin: string): string | undefined {
  const { corsOrigins } = config(
    `${SMALL}\ningest: { corsOrigins: [${JSON.stringify(entry)}] }`,
  ).ingest;
  const headers = corsHeaders(new Set(corsOrigins), origin, undefined);
  return new Map(headers).get("access-control-allow-origin");
}

test.each([
  ["https://*.example.com", "https://app.example.com"],
  ["https://*.example.com", "https://a.b.example.com"],
  ["http://*.example.com:3000", "http://app.example.com:3000"],
  ["https://*.localhost", "https://app.localhost"],
  ["https://*.xn--bcher-kva.example", "https://a.xn--bcher-kva.example"],
  ["https://[::1]:3000", "https://[::1]:3000"],
  ["capacitor://localhost", "capacitor://localhost"],
  ["ionic://localhost", "ionic://localhost"],
  ["tauri://localhost", "tauri://localhost"],
  ["app://obsidian.md", "app://obsidian.md"],
  [
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
  ],
  ["app://-", "app://-"],
  ["app://.", "app://."],
  ["https://*.example.com.", "https://app.example.com."],
  ["https://*.ex~ample.com", "https://app.ex~ample.com"],
  ["https://*.example.com", "https://a~b.example.com"],
  ["https://*.a..example.com:8443", "https://app.a..example.com:8443"],
  ["null", "null"],
])("an entry %s allows %s", (entry, origin) => {
  expect(allowed(entry, origin)).toBe(origin);
});

test.each([
  ["https://*.example.com", "https://example.com"],
  ["https://*.example.com", "https://.example.com"],
  ["https://*.example.com", "http://app.example.com"],
  ["https://*.example.com", "https://app.example.com:8443"],
  ["https://*.example.com", "https://app.example.com.evil.com"],
  ["https://*.example.com", "https://evilexample.com"],
  ["https://*.example.com", "https://evil.com/.example.com"],
  ["https://*.example.com", "https://evil.com#.example.com"],
  ["https://*.example.com", "https://evil.com:1@.example.com"],
  ["https://*.example.com", `https://${"a.".repeat(4_000)}example.com`],
  ["https://*.example.com", "https://evil.com\\.example.com"],
  ["https://*.example.com", "https://evil.com .example.com"],
  ["https://*.example.com", "https://[::1].example.com"],
  ["https://*.example.com", "https://app.example.com."],
  ["https://*.example.com", "null"],
  ["capacitor://localhost", "ionic://localhost"],
])("an entry %s does not allow %s", (entry, origin) => {
  expect(allowed(entry, origin)).toBeUndefined();
});

test.each([
  "https://*",
  "https://*.",
  "https://app.*.example.com",
  "https://app*.example.com",
  "https://*.*.example.com",
  "https://*app.example.com",
  "https://a.example.com:*",
  "*://a.example.com",
  "*.example.com",
  "https://*.example.com/",
  "https://*.Example.com",
  "https://*.example.com:443",
  "https://*.127.0.0.1",
  "https://A.example.com",
  "https://user@a.example.com",
  "https://a.example.com/path",
  "https://a.example.com?q",
  "a.example.com",
  "localhost:3000",
  "//a.example.com",
  "",
  "Null",
  "file://",
  "file:///index.html",
  "data:text/html,a",
  "ws://a.example.com",
  "capacitor://",
  "capacitor://localhost/",
  "capacitor://LOCALHOST",
  "Capacitor://localhost",
  "capacitor://*",
  "capacitor://*.localhost",
  "chrome-extension://id/page.html",
])("an entry %s, which no browser sends, is rejected", (entry) => {
  const found = problems(`${SMALL}\ningest: { corsOrigins: [${JSON.stringify(entry)}] }`);
  expect(found.map(({ path }) => path.join("."))).toEqual(["ingest.corsOrigins.0"]);
});

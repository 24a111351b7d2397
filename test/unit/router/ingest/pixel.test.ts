// Calls in the query of an image's URL.

import { expect, test } from "vitest";

import { callOfPixel } from "../../../../src/router/ingest/pixel.ts";

test.each([
  ["userId=u&event=Opened", { userId: "u", event: "Opened" }],
  ["writeKey=secret&userId=u", { userId: "u" }],
  ["anonymousId=%22amp-1%22", { anonymousId: "amp-1" }],
  ["anonymousId=a", { anonymousId: "a" }],
  [
    "context.page.url=https%3A%2F%2Fa%2F%3Fb&context.locale=de",
    { context: { page: { url: "https://a/?b" }, locale: "de" } },
  ],
  ["properties.a=1&properties.a=2", { properties: { a: "1" } }],
  ["a=1&a.b=2", { a: "1" }],
  ["a.b=2&a=1", { a: { b: "2" } }],
  ["a..b=1", { a: { "": { b: "1" } } }],
  ["a.b.c.d.e.f.g.h.i.j.k=1", { "a.b.c.d.e.f.g.h.i.j.k": "1" }],
  ["=1", { "": "1" }],
  ["channel=server", { channel: "web" }],
  ["name=Gr%C3%B6%C3%9Fe+%E2%98%95%22", { name: 'Größe ☕"' }],
])("%s", (query, expected) => {
  const call: unknown = JSON.parse(`${callOfPixel(new URLSearchParams(query))}`);
  expect(call).toEqual({ channel: "web", ...expected });
});

test("names that objects inherit are names like others", () => {
  const text = `${callOfPixel(new URLSearchParams("__proto__.a=1&constructor=2"))}`;
  expect(text).toBe('{"channel":"web","__proto__":{"a":"1"},"constructor":"2"}');
});

test("as many dots as a request may have nest no deeper than ten levels", () => {
  const query = new URLSearchParams([["a.".repeat(8_000), "1"]]);
  expect(() => callOfPixel(query)).not.toThrow();
});

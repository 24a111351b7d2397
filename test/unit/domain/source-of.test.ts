import { expect, test } from "vitest";

import type { SourceId } from "../../../src/domain/ids.ts";
import type { RecordHeaders } from "../../../src/domain/record.ts";
import { sourceLookup, sourceOf } from "../../../src/domain/source-of.ts";
import { aSource } from "../../support/build/calls.ts";

const sources = [
  aSource("web", [], { writeKeys: ["k-web", "k-old"] }),
  aSource("ios", [], { writeKeys: ["k-ios"] }),
  aSource("7", [], { writeKeys: ["700"] }),
  aSource("fallback", []),
];
const IOS = { sourceId: "ios", writeKey: "k-ios" };
const EMPTY = { sourceId: "", writeKey: "" };
const NULLS = { sourceId: null, writeKey: null };
const withDefault = sourceLookup(sources, "fallback" as SourceId);
const withoutDefault = sourceLookup(sources, null);
const header = (...values: (string | null)[]): RecordHeaders =>
  values.map((value) => ["source-id", value === null ? null : Buffer.from(value)]);

test.each([
  ["the header", header("web"), {}, "web", "header source-id"],
  ["the header before all others", header("web"), IOS, "web", "header source-id"],
  ["the last of repeated headers", header("ios", "web"), {}, "web", "header source-id"],
  ["sourceId", [], { sourceId: "ios" }, "ios", "sourceId"],
  ["sourceId before writeKey", [], { sourceId: "ios", writeKey: "k-web" }, "ios", "sourceId"],
  ["a number as sourceId", [], { sourceId: 7 }, "7", "sourceId"],
  ["writeKey", [], { writeKey: "k-web" }, "web", "writeKey"],
  ["a writeKey of before a rotation", [], { writeKey: "k-old" }, "web", "writeKey"],
  ["a number as writeKey", [], { writeKey: 700 }, "7", "writeKey"],
  ["the default", [], {}, "fallback", "defaultSource"],
  ["the default for empty texts", header(""), EMPTY, "fallback", "defaultSource"],
  ["the default for nulls", header(null), NULLS, "fallback", "defaultSource"],
  ["the value where the header is empty", header(""), { sourceId: "ios" }, "ios", "sourceId"],
  ["the default for a value that is no object", [], [], "fallback", "defaultSource"],
  ["no other header", [["Source-Id", Buffer.from("web")]], {}, "fallback", "defaultSource"],
] satisfies [string, RecordHeaders, unknown, string, string][])(
  "the source is named by %s",
  (_name, headers, json, id, namedBy) => {
    const found = sourceOf(headers, json, withDefault);
    expect(found).toMatchObject({ kind: "source", source: { id }, namedBy });
  },
);

test.each([
  [
    "an unknown id in the header",
    header("nope"),
    { sourceId: "web" },
    'header source-id is "nope"',
  ],
  ["an unknown sourceId", [], { sourceId: "nope", writeKey: "k-web" }, 'the sourceId is "nope"'],
  ["an unknown writeKey", [], { writeKey: "nope" }, "belongs to no configured source"],
  ["a source's id as writeKey", [], { writeKey: "web" }, "belongs to no configured source"],
  ["a sourceId of another type", [], { sourceId: { id: "web" } }, "the sourceId is an object"],
  ["false, which is not absent", [], { sourceId: false }, "the sourceId is false"],
  ["a name of Object's own", [], { sourceId: "__proto__" }, 'the sourceId is "__proto__"'],
] satisfies [string, RecordHeaders, unknown, string][])(
  "what is present decides, without falling through: %s",
  (_name, headers, json, error) => {
    expect(sourceOf(headers, json, withDefault)).toEqual({
      kind: "refused",
      reason: "unknown-source",
      error: expect.stringContaining(error),
    });
  },
);

test("without a default, a record that names no source is rejected", () => {
  expect(sourceOf([], {}, withoutDefault)).toMatchObject({
    kind: "refused",
    reason: "unknown-source",
  });
});

test("an error never says a write key", () => {
  const found = sourceOf([], { writeKey: "k-misspelt" }, withDefault);
  expect(found.kind).toBe("refused");
  expect(JSON.stringify(found)).not.toContain("k-misspelt");
});

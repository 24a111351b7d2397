import { expect, test } from "vitest";

import { frameOf, SCHEMA_HEADER, withoutSchema } from "../../../src/domain/framing.ts";
import type { RecordHeaders } from "../../../src/domain/record.ts";

const GUID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
const GUID_BYTES = Buffer.from(GUID.replaceAll("-", ""), "hex");
const frame = (value: Buffer, ...headers: RecordHeaders) => frameOf(value, { headers });
const header = (...parts: (number | Buffer)[]): RecordHeaders[number] => [
  SCHEMA_HEADER,
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.of(part) : part))),
];
const JSON_VALUE = Buffer.from("{}");

test.each([
  ["an id before the content", Buffer.of(0, 0, 0, 1, 2, 9), 258, 5],
  ["an id alone", Buffer.of(0, 0, 0, 0, 7), 7, 5],
  ["the largest id", Buffer.of(0, 0x7f, 0xff, 0xff, 0xff), 2_147_483_647, 5],
])("%s in the value", (_name, value, ref, start) => {
  expect(frame(value)).toEqual({ kind: "framed", ref, start });
});

test("an id or a GUID in the header names the schema of a value without a frame", () => {
  const value = Buffer.of(0, 0, 0, 0, 7, 1);
  expect(frame(value, header(0, 0, 0, 1, 2))).toEqual({ kind: "framed", ref: 258, start: 0 });
  expect(frame(value, header(1, GUID_BYTES))).toEqual({ kind: "framed", ref: GUID, start: 0 });
});

test("of a repeated header the last one counts, and null is none", () => {
  const [five, six] = [header(0, 0, 0, 0, 5), header(0, 0, 0, 0, 6)];
  expect(frame(JSON_VALUE, five, six)).toMatchObject({ ref: 6 });
  expect(frame(JSON_VALUE, five, [SCHEMA_HEADER, null])).toEqual({ kind: "none" });
});

test.each([
  ["JSON", JSON_VALUE],
  ["no bytes", Buffer.alloc(0)],
  ["byte 3 and another second byte", Buffer.alloc(40, 3)],
  ["byte 3 and too little for Glue", Buffer.of(3, 0, 1, 2)],
])("%s has no frame", (_name, value) => {
  expect(frame(value, ["__key_schema_id", Buffer.of(9)])).toEqual({ kind: "none" });
});

test("a header of Apicurio's own says nothing of JSON, and more than the first bytes", () => {
  const own = ["apicurio.value.globalId", Buffer.of(0, 0, 0, 0, 0, 0, 0, 7)] as const;
  expect(frame(JSON_VALUE, own)).toEqual({ kind: "none" });
  expect(frame(JSON_VALUE, own, header(0, 0, 0, 0, 5))).toMatchObject({ ref: 5 });
  expect(frame(Buffer.of(0, 0, 0, 0, 7, 1), own)).toMatchObject({ kind: "refused" });
});

test.each([
  ["byte 0 and half an id", Buffer.of(0, 0, 0, 7), [], "unknown-schema", "no complete schema ID"],
  ["an 8-byte id", Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 7, 1), [], "undecodable", "8-byte IDs"],
  ["an id from 2^31", Buffer.of(0, 0x80, 0, 0, 0), [], "undecodable", "schema ID 2147483648"],
  ["Glue's frame", Buffer.concat([Buffer.of(3, 0), GUID_BYTES]), [], "undecodable", "AWS Glue"],
  ["Glue's, packed", Buffer.concat([Buffer.of(3, 5), GUID_BYTES]), [], "undecodable", "AWS Glue"],
  [
    "Apicurio's own header with a global id",
    Buffer.of(2, 4, 9),
    [["apicurio.value.globalId", Buffer.alloc(8)]],
    "undecodable",
    "the schema ID is in the header apicurio.value.globalId",
  ],
  [
    "Apicurio's own header with a content id",
    Buffer.of(2, 4, 9),
    [["apicurio.value.contentId", Buffer.alloc(8)]],
    "undecodable",
    "the schema ID is in the header apicurio.value.contentId",
  ],
  ["an empty header", JSON_VALUE, [header()], "undecodable", "has 0 bytes; expected"],
  ["half an id in the header", JSON_VALUE, [header(0, 1)], "undecodable", "has 2 bytes, the first"],
  ["a short GUID", JSON_VALUE, [header(1, 2, 3)], "undecodable", "has 3 bytes, the first is 1"],
  [
    "an id too long",
    JSON_VALUE,
    [header(0, GUID_BYTES)],
    "undecodable",
    "17 bytes, the first is 0",
  ],
  ["another version", JSON_VALUE, [header(2, 0, 0, 0, 1)], "undecodable", "the first is 2"],
  ["the id 0 in the header", JSON_VALUE, [header(0, 0, 0, 0, 0)], "undecodable", "schema ID 0"],
] as const)("%s is refused", (_name, value, headers, reason, error) => {
  expect(frame(value, ...headers)).toEqual({
    kind: "refused",
    reason,
    error: expect.stringContaining(error),
  });
});

test("copies have the other headers", () => {
  const other = ["traceparent", Buffer.from("00")] as const;
  expect(withoutSchema([header(0, 0, 0, 0, 7), other])).toEqual([other]);
});

import { expect, test } from "vitest";

import { decodeValue } from "../../../src/domain/decode.ts";
import type { KnownSchema, ValueSchema } from "../../../src/domain/known-schemas.ts";
import { recordValue } from "../../support/build/record-value.ts";

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.of(part))),
  );

test.each([
  ["an object", bytes('{"a":[1,"é☕😀"]}'), { a: [1, "é☕😀"] }],
  ["JSON that is no object", bytes(" null "), null],
  ["a byte-order mark before it", bytes(0xef, 0xbb, 0xbf, '{"a":1}'), { a: 1 }],
  ["an escaped lone surrogate", bytes('"\\ud800"'), "\ud800"],
  ["a zero byte written as an escape", bytes('"\\u0000"'), "\u0000"],
])("%s is decoded", (_name, value, json) => {
  expect(decodeValue(recordValue(value))).toMatchObject({ kind: "json", json });
});

test.each([
  ["a tombstone", null, "undecodable", "the record has no value"],
  ["no bytes", bytes(), "undecodable", "the value is not JSON"],
  ["a byte-order mark alone", bytes(0xef, 0xbb, 0xbf), "undecodable", "the value is not JSON"],
  ["a second byte-order mark", bytes("\ufeff\ufeff1"), "undecodable", "the value is not JSON"],
  ["broken JSON", bytes('{"a":1,}'), "undecodable", "the value is not JSON, at character 7"],
  ["two values", bytes("{}{}"), "undecodable", "the value is not JSON"],
  ["a byte that UTF-8 has not", bytes('"', 0xff, '"'), "undecodable", "the value is not UTF-8"],
  ["a cut character", bytes('"', 0xe2, 0x98), "undecodable", "the value is not UTF-8"],
  ["an encoded surrogate", bytes(0xed, 0xa0, 0x80), "undecodable", "the value is not UTF-8"],
  ["an overlong form", bytes(0xc0, 0xaf), "undecodable", "the value is not UTF-8"],
  ["UTF-16", Buffer.from("\ufeff{}", "utf16le"), "undecodable", "the value is not UTF-8"],
  ["a schema's frame", bytes(0, 0, 0, 1, 2, "x"), "unknown-schema", "the value has schema 258"],
  ["byte 0 alone", bytes(0), "unknown-schema", "the value starts with byte 0"],
  ["byte 0 and half an id", bytes(0, 0, 0, 7), "unknown-schema", "the value starts with byte 0"],
])("%s is rejected", (_name, value, reason, error) => {
  expect(decodeValue(recordValue(value))).toEqual({
    kind: "refused",
    reason,
    error: expect.stringContaining(error),
  });
});

const schema = (known: KnownSchema, start = 5): ValueSchema => ({ ref: 7, known, start });

test("a value with a schema is what the schema's reader makes of its content", () => {
  const read = (content: Buffer) =>
    ({ kind: "json", bytes: bytes('"', content.toString("hex"), '"') }) as const;
  const record = { value: bytes(0, 0, 0, 0, 7, 1, 2), headers: [] };
  const decoded = decodeValue({ ...record, schema: schema({ kind: "schema", read }) });
  expect(decoded).toMatchObject({ kind: "json", json: "0102", text: '"0102"' });
});

test.each<[string, KnownSchema, string, string]>([
  [
    "an unknown schema",
    { kind: "refused", reason: "unknown-schema", error: "nobody knows it" },
    "unknown-schema",
    "nobody knows it",
  ],
  [
    "a value that does not fit",
    { kind: "schema", read: () => ({ kind: "refused", error: "it ends early" }) },
    "undecodable",
    "it ends early (schema 7)",
  ],
  [
    "a text in it that is not UTF-8",
    { kind: "schema", read: () => ({ kind: "json", bytes: bytes('"', 0xff, '"') }) },
    "undecodable",
    "the value is not UTF-8",
  ],
])("%s: the value is rejected", (_name, known, reason, error) => {
  const record = { value: bytes(0, 0, 0, 0, 7, 1, 2), headers: [], schema: schema(known) };
  expect(decodeValue(record)).toEqual({ kind: "refused", reason, error });
});

test("without a registry a header that names a schema counts only where the value is not JSON", () => {
  const headers = [["__value_schema_id", bytes(0, 0, 0, 0, 7)]] as const;
  expect(decodeValue({ value: bytes("{}"), headers })).toMatchObject({ kind: "json" });
  expect(decodeValue({ value: bytes(2, 4), headers })).toMatchObject({
    reason: "unknown-schema",
    error: "the value has schema 7, and no schema registry is configured",
  });
});

test("an error says nothing of the value", () => {
  const decoded = decodeValue(recordValue(bytes('{"email": jane@example.com}')));
  expect(decoded.kind).toBe("refused");
  expect(JSON.stringify(decoded)).not.toContain("jane");
});

import { expect, test } from "vitest";

import { decodeValue } from "../../../src/domain/decode.ts";

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
  expect(decodeValue(value)).toMatchObject({ kind: "json", json });
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
  ["byte 0 alone", bytes(0), "unknown-schema", "the value begins with byte 0"],
  ["byte 0 and half an id", bytes(0, 0, 0, 7), "unknown-schema", "the value begins with byte 0"],
])("%s is refused", (_name, value, reason, error) => {
  expect(decodeValue(value)).toEqual({
    kind: "refused",
    reason,
    error: expect.stringContaining(error),
  });
});

test("an error says nothing of the value", () => {
  const decoded = decodeValue(bytes('{"email": jane@example.com}'));
  expect(decoded.kind).toBe("refused");
  expect(JSON.stringify(decoded)).not.toContain("jane");
});

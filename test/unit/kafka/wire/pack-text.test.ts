// Records of two texts are the same bytes as any other record.

import { expect, test } from "vitest";

import { packRecord } from "../../../../src/kafka/wire/pack-record.ts";
import { packText } from "../../../../src/kafka/wire/pack-text.ts";

function plain(key: string, value: string) {
  return { topic: "t", key: Buffer.from(key), value: Buffer.from(value), headers: [] };
}

test.each([
  ["m-1", "{}"],
  ["", ""],
  ["k".repeat(63), "v".repeat(64)],
  ["k".repeat(64), "v".repeat(8_191)],
  ["é".repeat(32), "ü".repeat(40)],
  ["é".repeat(63), "\u{1f600}".repeat(4_000)],
  ["\ud800", "\ufeff"],
  ["k", "v".repeat(200_000)],
])("%j", (key, value) => {
  const packed = packText("t", key, value);
  expect(packed.encoded).toEqual(packRecord(plain(key, value)).encoded);
  expect(packed.key).toEqual(Buffer.from(key));
  expect(packed.value).toEqual(Buffer.from(value));
  expect(packed).toMatchObject({ topic: "t", headers: [] });
});

test("those that came before stay as they are", () => {
  const all = Array.from({ length: 2_000 }, (_, at) => [`m-${at}é`, `{"at":${at}}`] as const);
  const packed = all.map(([key, value]) => packText("t", key, value));
  packed.forEach(({ encoded }, at) => {
    const [key = "", value = ""] = all[at] ?? [];
    expect(encoded).toEqual(packRecord(plain(key, value)).encoded);
  });
});

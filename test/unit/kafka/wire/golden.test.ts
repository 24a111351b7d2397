// Batches that the Java client and librdkafka have written: test/golden/record-batches/README.md.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { endOfBatches } from "../../../../src/kafka/wire/decode-records.ts";
import { murmur2 } from "../../../../src/kafka/wire/murmur2.ts";
import { decode, decodedRecords } from "../../../support/build/record-batches.ts";

const FOLDER = join(import.meta.dirname, "../../../golden/record-batches");
const golden = (name: string) => readFileSync(join(FOLDER, `${name}.bin`));

const BASE_MS = 1_700_000_000_000;
const RECORDS = [
  [BASE_MS, "user-1", '{"type":"track"}', [["source", "web"]]],
  [BASE_MS + 1, null, "no key", []],
  [BASE_MS + 2, "tombstone", null, []],
  [BASE_MS + 3, null, null, [["only", "headers"]]],
  [
    BASE_MS + 5_000_000_000,
    "headers",
    "",
    [
      ["repeated", "1"],
      ["repeated", "2"],
      ["null", null],
      ["empty", ""],
      ["__proto__", "harmless"],
      ["0", "integer-like"],
      ["größe", "ünïcode"],
    ],
  ],
  [BASE_MS - 1000, "big", "0123456789".repeat(7000), []],
];

const text = (bytes: Buffer | null) => bytes?.toString() ?? null;

async function read(name: string) {
  const messages = await decode(golden(name));
  return messages.map(({ timestampMs, key, value, headers }) => [
    timestampMs,
    text(key),
    text(value),
    headers.map(([header, bytes]) => [header, text(bytes)]),
  ]);
}

const FILES = ["java", "librdkafka"].flatMap((client) =>
  ["none", "gzip", "snappy", "lz4", "zstd"].map((codec) => `${client}-${codec}`),
);

test.each(FILES)("%s is read", async (name) => {
  expect(await read(name)).toEqual(RECORDS);
});

test("the broker's time counts for every record of a batch that it has stamped", async () => {
  const stamped = RECORDS.map(([, ...rest]) => [1_800_000_000_000, ...rest]);
  expect(await read("java-log-append-time")).toEqual(stamped);
});

test("control records are marked as such, records with their key are not", async () => {
  const messages = await decode(golden("java-transaction"));
  expect(messages.map(({ isControlRecord }) => isControlRecord)).toEqual([
    false,
    false,
    true,
    false,
    false,
    true,
  ]);
  expect(messages.map(({ batchContext }) => batchContext.producerId)).toEqual([
    "7",
    "7",
    "7",
    "8",
    "8",
    "8",
  ]);
  expect(messages.every(({ batchContext }) => batchContext.inTransaction)).toBe(true);
});

test("a batch that compaction has emptied moves the position behind it", async () => {
  const messages = await decodedRecords(golden("java-empty"));
  expect(messages).toEqual([]);
  expect(endOfBatches(messages)).toBe(110);
});

test("murmur2 is Java's", () => {
  const hashes: unknown = JSON.parse(readFileSync(join(FOLDER, "murmur2.json"), "utf8"));
  for (const [hex, hash] of hashes as [string, number][]) {
    expect(murmur2(Buffer.from(hex, "hex"))).toBe(hash);
  }
});

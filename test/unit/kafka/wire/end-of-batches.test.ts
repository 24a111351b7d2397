// The offset at which reading continues after batches, even if compaction has left batches without records.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { decodeRecords, endOfBatches } from "../../../../src/kafka/wire/decode-records.ts";
import { ALL_WANTED, altered, encodeBatch } from "../../../support/build/record-batches.ts";

const empty = readFileSync(
  join(import.meta.dirname, "../../../golden/record-batches/java-empty.bin"),
);

async function endOf(records: Buffer): Promise<number | null> {
  return endOfBatches(await decodeRecords(records, ALL_WANTED));
}

const message = { key: null, value: Buffer.from("v"), headers: [], timestamp: "1" };

async function batch(baseOffset: number, records: number): Promise<Buffer> {
  const messages = Array.from({ length: records }, () => message);
  return encodeBatch(messages as never, { baseOffset });
}

test("behind the last record of the last batch", async () => {
  expect(await endOf(await batch(100, 3))).toBe(103);
  expect(await endOf(Buffer.concat([await batch(100, 3), await batch(103, 2)]))).toBe(105);
});

test("behind a batch whose last records compaction has removed", async () => {
  const compacted = altered(await batch(100, 3), (copy) => copy.writeInt32BE(9, 23));
  expect(await endOf(compacted)).toBe(110);
});

test("behind a batch that has no record left", async () => {
  expect(await endOf(empty)).toBe(110);
});

test("a batch that is cut off does not count; nothing at all has no end", async () => {
  const whole = await batch(100, 3);
  const cut = (await batch(103, 2)).subarray(0, 40);
  expect(await endOf(Buffer.concat([whole, cut]))).toBe(103);
  expect(await endOf(Buffer.alloc(0))).toBe(null);
});

// The end of a corrupt batch whose header may be wrong.

import { expect, test } from "vitest";

import { corruptOffsets } from "../../../../src/kafka/wire/corrupt-batch.ts";
import { decodeRecords } from "../../../../src/kafka/wire/decode-records.ts";
import { ALL_WANTED, encodeBatch } from "../../../support/build/record-batches.ts";

const message = { key: null, value: Buffer.from("a"), headers: [] };
const three = await encodeBatch([message, message, message], { baseOffset: 40 });
const next = await encodeBatch([message], { baseOffset: 45 });

function changed(change: (batch: Buffer) => void): Buffer {
  const copy = Buffer.from(three);
  change(copy);
  return copy;
}

const withInt = (value: number, at: number) => changed((batch) => batch.writeInt32BE(value, at));
const withOffset = (offset: bigint) => changed((batch) => batch.writeBigInt64BE(offset));
const DIFFERENCE_AT = 23;
const beyond = withInt(1_000, DIFFERENCE_AT);
const COUNTED = { offset: 40, behind: 43, isEndKnown: true };
const UNKNOWN = { offset: 40, behind: 41, isEndKnown: false };
const NEXT = { offset: 40, behind: 45, isEndKnown: true };
const STATED = { offset: 40, behind: 1_041, isEndKnown: false };
const LATER = { offset: 45, behind: 48, isEndKnown: false };

test.each([
  ["a sound header", three, 40, 100, COUNTED],
  ["a sound header, another batch behind it", Buffer.concat([three, next]), 40, 100, COUNTED],
  ["an offset in its middle", three, 42, 100, COUNTED],
  ["a difference into the next batch", Buffer.concat([beyond, next]), 40, 5_000, NEXT],
  ["a difference that is too large, and nothing behind it to say so", beyond, 40, 5_000, STATED],
  ["a difference behind the partition's end", beyond, 40, 50, UNKNOWN],
  ["a negative difference", withInt(-7, DIFFERENCE_AT), 40, 50, UNKNOWN],
  ["a length that is too large", withInt(9_000, 8), 40, 50, COUNTED],
  ["a negative length", withInt(-5, 8), 40, 50, COUNTED],
  ["a first offset behind the end", withOffset(1n << 40n), 40, 50, COUNTED],
  ["a first offset behind the one that was asked for", withOffset(45n), 40, 50, LATER],
  ["hardly a byte", three.subarray(0, 5), 40, 50, UNKNOWN],
])("a corrupt batch with %s", (_what, records, from, end, offsets) => {
  expect(corruptOffsets(records, from, end)).toEqual(offsets);
});

test("batches before a corrupt one are read, and it is left for the next fetch", async () => {
  const broken = Buffer.from(next);
  broken.writeUInt8((broken.at(-1) ?? 0) ^ 1, broken.length - 1);
  const both = Buffer.concat([three, broken]);
  const read = await decodeRecords(both, ALL_WANTED);
  expect(read.map((each) => (each as { offset: number }).offset)).toEqual([40, 41, 42]);
  await expect(decodeRecords(broken, ALL_WANTED)).rejects.toThrow("is corrupt");
});

test("a version that does not exist is corruption", async () => {
  const strange = changed((batch) => batch.writeUInt8(7, 16));
  await expect(decodeRecords(strange, ALL_WANTED)).rejects.toThrow("its version is 7");
});

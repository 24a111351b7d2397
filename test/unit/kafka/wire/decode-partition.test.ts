// The records of one partition of a Fetch response, and batches that are corrupt.

import { expect, test } from "vitest";
import { corruptInPlaceOf } from "../../../../src/kafka/wire/corrupt-batch.ts";
import { CORRUPT_MESSAGE, decodePartition } from "../../../../src/kafka/wire/decode-partition.ts";
import {
  INFLATED_FETCH_MAX_BYTES,
  type Inflated,
} from "../../../../src/kafka/wire/decode-records.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";

const MESSAGES = ["a", "b", "c"].map((value) => ({
  key: null,
  value: Buffer.from(value),
  headers: [],
}));

interface Given {
  readonly from?: number;
  readonly skipsCorrupt?: boolean;
  readonly errorCode?: number;
  readonly inflated?: Inflated;
}

function decode(records: Buffer, given: Given = {}) {
  const { from = 0, skipsCorrupt = false, errorCode = 0, inflated = { bytes: 0 } } = given;
  const set = { topic: "second", partition: 6, errorCode, end: 4_096 };
  const wanted = { from, skipsCorrupt, recordMaxBytes: 16_000_000 };
  return decodePartition(records, set, wanted, inflated);
}

function offsets(decoded: readonly unknown[]): readonly number[] {
  return decoded.map((record) => (record as { readonly offset: number }).offset);
}

const corruptBatch = async () => {
  const batch = await encodeBatch(MESSAGES, { baseOffset: 41 });
  return batch.fill(batch.readUInt8(70) ^ 1, 70, 71);
};

test("the error of a corrupt batch names topic, partition and offset", async () => {
  const batch = await encodeBatch(MESSAGES, { baseOffset: 41 });
  expect(offsets(await decode(batch))).toEqual([41, 42, 43]);
  batch.writeUInt8(0, 17);
  await expect(decode(batch)).rejects.toMatchObject({
    name: "CorruptBatchError",
    topic: "second",
    partition: 6,
    offset: 41,
    message: expect.stringContaining("at topic second, partition 6, offset 41 is corrupt"),
  });
});

test("of batches that hold very much only the first are read, over all partitions", async () => {
  const value = Buffer.alloc(0.4 * INFLATED_FETCH_MAX_BYTES);
  const batches = await Promise.all(
    [0, 1, 2, 3].map((baseOffset) =>
      encodeBatch([{ key: null, value, headers: [] }], { baseOffset, compression: 4 }),
    ),
  );
  const [one = Buffer.alloc(0)] = batches;
  const many = Buffer.concat(batches);
  const small = await encodeBatch(MESSAGES, { compression: 4 });
  const both = async (first: Buffer, second: Buffer) => {
    const inflated = { bytes: 0, left: 2 };
    return [
      offsets(await decode(first, { inflated })),
      offsets(await decode(second, { inflated })),
    ];
  };
  expect(await both(one, small)).toEqual([[0], [0, 1, 2]]);
  expect(await both(many, one)).toEqual([[0, 1], [0]]);
  expect(await both(small, many)).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ]);
});

test("where corrupt batches are passed, one comes as no records", async () => {
  const decoded = await decode(await corruptBatch(), { from: 41, skipsCorrupt: true });
  expect(decoded).toEqual([]);
  expect(corruptInPlaceOf(decoded)).toMatchObject({
    ...{ topic: "second", partition: 6, offset: 41, behind: 44, isEndKnown: true },
    corruption: expect.stringContaining("checksum"),
  });
  expect(corruptInPlaceOf(await decode(await encodeBatch(MESSAGES)))).toBeNull();
});

test("a batch whose end is unknown is an error all the same", async () => {
  const batch = await corruptBatch();
  batch.writeInt32BE(1_000, 23);
  await expect(decode(batch, { from: 41, skipsCorrupt: true })).rejects.toMatchObject({
    at: { offset: 41, behind: 1_042, isEndKnown: false },
  });
});

test("a place that the broker cannot read is corruption", async () => {
  const given = { from: 41, skipsCorrupt: true, errorCode: CORRUPT_MESSAGE };
  await expect(decode(Buffer.alloc(0), given)).rejects.toMatchObject({
    name: "CorruptBatchError",
    at: { topic: "second", partition: 6, offset: 41, behind: 42, isEndKnown: false },
    message: expect.stringContaining("the broker itself cannot read the batch"),
  });
});

import { crc32, gzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import {
  decodeRecords,
  endOfBatches,
  INFLATED_FETCH_MAX_BYTES,
} from "../../../../src/kafka/wire/decode-records.ts";
import { foreignBatches } from "../../../support/build/foreign-batches.ts";
import {
  ALL_WANTED,
  altered,
  decode,
  decodedRecords,
  encodeBatch,
  withDeltas,
} from "../../../support/build/record-batches.ts";

const messages = ["a", "b", "c"].map((value) => ({
  key: null,
  value: Buffer.from(value),
  headers: [],
}));

async function corruptionOf(records: Buffer): Promise<string> {
  const error = await decode(records).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CorruptBatchError))
    throw new Error("no corruption found", { cause: error });
  return error.message;
}

test("a wrong checksum is an error that names the offset and what to do", async () => {
  const batch = await encodeBatch(messages, { baseOffset: 77 });
  batch.writeUInt8(batch.readUInt8(batch.length - 2) ^ 1, batch.length - 2);
  expect(await corruptionOf(batch)).toMatch(
    /^The record batch at offset 77 is corrupt: its checksum should be [0-9a-f]+, but is [0-9a-f]+\. Restore the partition from an intact replica/,
  );
});

test.each<[string, (copy: Buffer) => unknown, RegExp]>([
  ["more records than are there", (copy) => copy.writeInt32BE(4, 57), /record 4 of 4 has a length/],
  ["a record that is too long", (copy) => copy.writeUInt8(0x7e, 61), /record 1 of 3 has a length/],
  ["a record that is too short", (copy) => copy.writeUInt8(2, 61), /record 1 of 3 has/],
  [
    "a compression that does not exist",
    (copy) => copy.writeInt16BE(7, 21),
    /compression type is 7/,
  ],
  ["no gzip where it says so", (copy) => copy.writeInt16BE(1, 21), /cannot be decompressed/],
  ["no length", (copy) => copy.writeInt32BE(-12, 8), /its length is -12/],
  ["less than a header", (copy) => copy.writeInt32BE(20, 8), /fewer than its header/],
  ["more than there is", (copy) => copy.writeInt32BE(100_000, 8), /it declares 100012 bytes/],
])("a batch that has %s is corrupt", async (_what, alter, corruption) => {
  expect(await corruptionOf(altered(await encodeBatch(messages), alter))).toMatch(corruption);
});

test("a batch whose offsets are not the partition's is corrupt: the checksum does not cover them", async () => {
  const batch = await encodeBatch(messages, { baseOffset: 2_313 });
  await expect(decodeRecords(batch, { ...ALL_WANTED, end: 6 })).rejects.toThrow(
    "its last offset is 2315, and the partition ends before 6",
  );
  const right = await encodeBatch(messages, { baseOffset: 3 });
  expect(await decodeRecords(right, { ...ALL_WANTED, end: 6 })).toHaveLength(3);
  // Records before it are passed on first.
  const both = Buffer.concat([right, batch]);
  expect(await decodeRecords(both, { ...ALL_WANTED, end: 6 })).toHaveLength(3);
});

test("a batch that was appended after the broker had taken the end down is read", async () => {
  const one = await encodeBatch(messages, { baseOffset: 3 });
  const two = await encodeBatch(messages, { baseOffset: 6 });
  const both = Buffer.concat([one, two]);
  for (const end of [3, 6, 7]) {
    const wanted = { ...ALL_WANTED, from: 3, end };
    const read = (await decodeRecords(both, wanted)) as { readonly offset: number }[];
    expect(read.map(({ offset }) => offset)).toEqual([3, 4, 5, 6, 7, 8]);
  }
  // It starts before the requested offset, because the broker returns the whole batch that contains this offset.
  const within = { ...ALL_WANTED, from: 4, end: 4 };
  expect(await decodeRecords(one, within)).toHaveLength(3);
  await expect(decodeRecords(two, { ...ALL_WANTED, from: 3, end: 4 })).rejects.toThrow(
    "the partition ends before 4",
  );
});

test("the position moves behind a batch that has lost its last records to compaction", async () => {
  const batch = altered(await encodeBatch(messages, { baseOffset: 10 }), (copy) => {
    copy.writeInt32BE(9, 23);
  });
  const read = await decodedRecords(batch);
  expect(read.map(({ offset }) => offset)).toEqual([10, 11, 12]);
  expect(endOfBatches(read)).toBe(20);
});

// Brokers check the deltas of compressed records only.
test.each([
  ["a delta behind the batch", [1_000_000, 1, 2], 2, [10, 11, 12]],
  ["the largest delta", [0, 1, 2 ** 31 - 1], 2, [10, 11, 12]],
  ["negative deltas", [-7, -8, -9], 2, [10, 11, 12]],
  ["descending deltas", [2, 1, 0], 2, [10, 11, 12]],
  ["one delta for all", [1, 1, 1], 2, [10, 11, 12]],
  ["right deltas with gaps, after compaction", [2, 5, 8], 9, [12, 15, 18]],
  ["wrong deltas with gaps, after compaction", [5, 5, 1_000_000], 9, [15, 16, 19]],
])("a record never gets an offset outside its batch: %s", async (_what, deltas, last, offsets) => {
  const batch = withDeltas(await encodeBatch(messages, { baseOffset: 10 }), deltas);
  const read = await decodedRecords(altered(batch, (copy) => copy.writeInt32BE(last, 23)));
  expect(read.map(({ offset }) => offset)).toEqual(offsets);
  expect(read.map(({ value }) => `${value}`)).toEqual(["a", "b", "c"]);
  expect(endOfBatches(read)).toBe(11 + last);
});

test.each([...(await foreignBatches(Buffer.from("x")))])(
  "a batch that brokers accept is read: %s",
  async (_what, batch) => {
    expect(await decode(Buffer.concat([batch, batch]))).toMatchObject([
      { offset: 0, key: null, value: Buffer.from("x") },
      { offset: 0, key: null, value: Buffer.from("x") },
    ]);
  },
);

test.each([
  ["the latest time of a Date", 8_640_000_000_000_000n, 8.64e15],
  ["a later one", 8_640_000_000_000_001n, -1],
  ["the earliest one of 64 bits", -(2n ** 63n), -1],
])("a record has a timestamp that a Date can hold, or none: %s", async (_what, given, expected) => {
  const batch = await encodeBatch(messages.slice(0, 1));
  const [read] = await decode(altered(batch, (copy) => copy.writeBigInt64BE(given, 27)));
  expect(read?.timestampMs).toBe(expected);
});

test("one batch of 200,000 tiny records is read, and many batches", async () => {
  const tiny = Array.from({ length: 200_000 }, () => ({ key: null, value: null, headers: [] }));
  const batch = await encodeBatch(tiny);
  expect(await decode(batch)).toHaveLength(200_000);
  const single = await encodeBatch(messages);
  expect(await decode(Buffer.concat(Array.from({ length: 3000 }, () => single)))).toHaveLength(
    9000,
  );
});

test("odd header names do no harm and keep their order", async () => {
  const headers = ["2", "__proto__", "1", "constructor", "2"].map(
    (name) => [name, Buffer.from("x")] as const,
  );
  const [read] = await decode(await encodeBatch([{ key: null, value: null, headers }]));
  expect(read?.headers).toEqual(headers);
});

/** An entry of a message set: version 0, or 1 with a time. */
function oldMessage(offset: number, value: Buffer, { version = 1, attributes = 0 } = {}): Buffer {
  const time = version === 0 ? Buffer.alloc(0) : Buffer.from("0000018000000000", "hex");
  const lengths = [Buffer.from("ffffffff", "hex"), Buffer.alloc(4)] as const;
  lengths[1].writeInt32BE(value.length);
  const body = Buffer.concat([Buffer.from([version, attributes]), time, ...lengths, value]);
  const head = Buffer.alloc(16);
  head.writeBigInt64BE(BigInt(offset));
  head.writeInt32BE(body.length + 4, 8);
  head.writeUInt32BE(crc32(body), 12);
  return Buffer.concat([head, body]);
}

const oldSet = Buffer.concat([
  oldMessage(7, Buffer.from("a")),
  oldMessage(8, Buffer.from("b"), { version: 0 }),
]);

test("message sets of Kafka before 0.11 are read", async () => {
  const old = [
    { offset: "7", timestamp: `${0x180_0000_0000}`, key: null, value: Buffer.from("a") },
    { offset: "8", timestamp: "-1", key: null, value: Buffer.from("b") },
  ];
  expect(await decodeRecords(oldSet, ALL_WANTED)).toMatchObject(old);
  // In version 1, the outer offset is that of the last message, and the inner ones count from 0.
  const inner = gzipSync(Buffer.concat([0, 1].map((at) => oldMessage(at, Buffer.from("c")))));
  const inflated = await decodeRecords(oldMessage(9, inner, { attributes: 1 }), ALL_WANTED);
  expect(inflated).toMatchObject([{ offset: "8" }, { offset: "9" }]);
  const batch = await encodeBatch(messages);
  // Between newer batches, they wait for the next fetch. The same applies to newer batches between older ones.
  expect(await decodeRecords(Buffer.concat([batch, oldSet]), ALL_WANTED)).toHaveLength(3);
  expect(await decodeRecords(Buffer.concat([oldSet, batch]), ALL_WANTED)).toHaveLength(2);
  expect(await decodeRecords(oldSet.subarray(0, -1), ALL_WANTED)).toHaveLength(1);
});

test.each([
  ["its checksum is wrong", altered(oldSet, (copy) => copy.writeUInt8(9, 30))],
  ["it declares", oldSet.subarray(0, 20)],
  ["its length is", altered(oldSet, (copy) => copy.writeInt32BE(3, 8))],
  ["cannot be inflated", oldMessage(9, Buffer.from("no gzip"), { attributes: 1 })],
])("a message set that is corrupt is an error: %s", async (text, records) => {
  await expect(decodeRecords(records, ALL_WANTED)).rejects.toThrow(text);
});

test("one batch is read whatever it holds", async () => {
  const value = Buffer.alloc(INFLATED_FETCH_MAX_BYTES);
  const batch = await encodeBatch([{ key: null, value, headers: [] }], { compression: 4 });
  expect(await decode(Buffer.concat([batch, batch]))).toHaveLength(1);
});

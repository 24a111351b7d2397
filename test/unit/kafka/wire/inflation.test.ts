// Batches that decompress to more than is kept in memory: the table of src/kafka/wire/inflation.ts, and memory use.

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { decodeBatch } from "../../../../src/kafka/wire/decode-batch.ts";
import type { FetchedRecord } from "../../../../src/kafka/wire/fetched-record.ts";
import { PART_MAX_BYTES } from "../../../../src/kafka/wire/inflation.ts";
import { compressed, withRecords } from "../../../support/build/compressed-batch.ts";
import { withLengths } from "../../../support/build/foreign-batches.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";

const LIMIT = 100_000;
const CODECS = [
  ["gzip", 1],
  ["snappy", 2],
  ["lz4", 3],
  ["zstd", 4],
] as const;

const small = (text: string) => ({ key: Buffer.from(text), value: Buffer.from(text), headers: [] });
const large = {
  key: Buffer.from("user-1"),
  value: Buffer.alloc(2 * PART_MAX_BYTES, " "),
  headers: [["source-id", Buffer.from("web")] as const, ["none", null] as const],
};

async function read(batch: Buffer, from = 0, recordMaxBytes = LIMIT) {
  const messages: FetchedRecord[] = [];
  const wanted = { topic: "t", partition: 0, from, end: 1_000, recordMaxBytes };
  const { next } = await decodeBatch(batch, messages, wanted);
  return { messages, next };
}

test.each(CODECS)("%s: a record above the limit comes without its value", async (_name, type) => {
  const batch = await encodeBatch([small("a"), large, small("b")], {
    baseOffset: 10,
    compression: type,
  });
  const { messages, next } = await read(batch);
  expect(next).toBeNull();
  expect(messages.map(({ offset, omitted }) => [offset, omitted?.cut ?? null])).toEqual([
    [10, null],
    [11, { keyBytes: null, valueBytes: large.value.length, headers: null }],
    [12, null],
  ]);
  expect(messages[1]?.omitted?.bytes).toBeGreaterThan(large.value.length);
  expect(messages[1]).toMatchObject({ key: large.key, value: null, headers: large.headers });
  expect([messages[0], messages[2]].map((record) => `${record?.value}`)).toEqual(["a", "b"]);
});

test("any negative length is Kafka's null, as it is for brokers", async () => {
  const records = gzipSync(withLengths(large.value, -2, -5));
  const { messages } = await read(withRecords(await encodeBatch([small("a")]), records, 1));
  expect(messages).toMatchObject([{ key: null, value: null, headers: [["h", null]] }]);
  const valueBytes = large.value.length;
  expect(messages[0]?.omitted?.cut).toEqual({ keyBytes: null, valueBytes, headers: null });
});

const value = Buffer.from('{"type":"track"}');
const sized = (name: string, bytes: number) => [name, Buffer.alloc(bytes)] as const;

test.each(CODECS)("%s: headers are omitted before the value", async (_name, type) => {
  const headers = [
    sized("first", 10),
    sized("big", 2 * PART_MAX_BYTES),
    sized("half", LIMIT / 2),
    sized("most", LIMIT - 1_000),
    sized("last", 10),
  ];
  const record = { key: large.key, value, headers };
  const batch = await encodeBatch([record, small("b")], { compression: type });
  const [only, next] = (await read(batch)).messages;
  expect(only).toMatchObject({ key: large.key, value });
  expect(only?.headers.map(([name]) => name)).toEqual(["first", "half", "last"]);
  expect(only?.omitted?.cut).toMatchObject({ keyBytes: null, valueBytes: null });
  expect(only?.omitted?.cut.headers).toMatchObject({ count: 2, largest: "big" });
  expect(next?.value).toEqual(Buffer.from("b"));
});

test("a large header goes for smaller ones behind it", async () => {
  const headers = [
    sized("most", LIMIT - 2_000),
    sized("name".repeat(LIMIT), 1),
    ...Array.from({ length: 10 }, (_, number) => sized(`h${number}`, LIMIT / 20)),
    sized("big", 2 * PART_MAX_BYTES),
  ];
  const batch = await encodeBatch([{ key: null, value, headers }], { compression: 4 });
  const [only] = (await read(batch)).messages;
  expect(only?.value).toEqual(value);
  expect(only?.headers.map(([name]) => name)).toEqual(headers.slice(2, 12).map(([name]) => name));
  expect(only?.omitted?.cut.headers).toMatchObject({ count: 3, largest: "big" });
});

test("of a million small headers those are kept that come first", async () => {
  const headers = Array.from({ length: 1_200_000 }, () => sized("h", 1));
  const batch = await encodeBatch([{ key: null, value, headers }, small("b")], { compression: 4 });
  const [only, next] = (await read(batch)).messages;
  expect(only?.value).toEqual(value);
  const kept = only?.headers.length ?? 0;
  expect(kept).toBeGreaterThan(10_000);
  expect(only?.omitted?.cut.headers?.count).toBe(headers.length - kept);
  expect(next?.value).toEqual(Buffer.from("b"));
});

test("a value goes before its key, and a key next to which it does not fit goes", async () => {
  const keys = [LIMIT + 1, LIMIT - 10, 10].map((bytes) => Buffer.alloc(bytes));
  const headers = [sized("big", 2 * PART_MAX_BYTES)];
  const batch = await encodeBatch(
    keys.map((key) => ({ key, value, headers })),
    { compression: 4 },
  );
  const { messages } = await read(batch);
  expect(messages.map((each) => each.key?.length ?? null)).toEqual([null, null, 10]);
  expect(messages.map((each) => each.value)).toEqual([value, value, value]);
  expect(messages.map(({ omitted }) => omitted?.cut.keyBytes)).toEqual([
    LIMIT + 1,
    LIMIT - 10,
    null,
  ]);
});

test.each(CODECS)("%s: many records are read in parts, each once", async (_name, type) => {
  const count = 3_000;
  const records = Array.from({ length: count }, (_, number) => ({
    ...{ key: null, headers: [] },
    value: Buffer.alloc(5_000, `${number % 10}`),
  }));
  const batch = await encodeBatch(records, { baseOffset: 100, compression: type });
  const offsets: number[] = [];
  let parts = 0;
  for (let from: number | null = 100; from !== null; parts += 1) {
    const { messages, next } = await read(batch, from);
    const bytes = messages.reduce((sum, record) => sum + record.bytes, 0);
    expect(bytes).toBeLessThan(PART_MAX_BYTES + LIMIT);
    for (const { offset, value } of messages) {
      offsets.push(offset);
      expect(value?.[0]).toBe(`${(offset - 100) % 10}`.charCodeAt(0));
    }
    from = next;
  }
  expect(parts).toBeGreaterThan(3);
  expect(offsets).toEqual(records.map((_, index) => 100 + index));
});

test("a fetch from the middle of a batch passes the records before it", async () => {
  const records = Array.from({ length: 10 }, (_, number) => ({
    ...small(`${number}`),
    value: Buffer.alloc(1_000_000, `${number}`),
  }));
  const batch = await encodeBatch(records, { compression: 4 });
  const { messages } = await read(batch, 7, 2_000_000);
  expect(messages.map(({ offset }) => offset)).toEqual([7, 8, 9]);
});

test("a part that is asked for again is the same", async () => {
  const records = Array.from({ length: 2_000 }, () => ({
    ...small("k"),
    value: Buffer.alloc(5_000),
  }));
  const batch = await encodeBatch(records, { compression: 4 });
  const first = await read(batch, 0);
  const again = await read(batch, 0);
  expect(again.next).toBe(first.next);
  expect(again.messages).toHaveLength(first.messages.length);
});

test("bytes that end too early are corruption", async () => {
  const whole = await encodeBatch([large], {});
  const cut = Buffer.from(whole.subarray(0, 61 + PART_MAX_BYTES + 1));
  for (const [, type] of CODECS) {
    await expect(read(await compressed(cut, type))).rejects.toThrow(/cannot be decompressed/);
  }
});

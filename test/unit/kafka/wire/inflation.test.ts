// Batches that inflate to more than is held: the table of src/kafka/wire/inflation.ts, and memory.

import { expect, test } from "vitest";

import { decodeBatch } from "../../../../src/kafka/wire/decode-batch.ts";
import type { FetchedRecord } from "../../../../src/kafka/wire/fetched-record.ts";
import { PART_MAX_BYTES } from "../../../../src/kafka/wire/inflation.ts";
import { compressed } from "../../../support/build/compressed-batch.ts";
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
  expect(messages.map(({ offset, omittedBytes }) => [offset, omittedBytes])).toEqual([
    [10, undefined],
    [11, large.value.length],
    [12, undefined],
  ]);
  expect(messages[1]).toMatchObject({ key: large.key, value: null, headers: large.headers });
  expect([messages[0], messages[2]].map((record) => `${record?.value}`)).toEqual(["a", "b"]);
});

test("of a record above the limit only those headers are kept that fit", async () => {
  const headers = Array.from(
    { length: 10 },
    (_, number) => [`h${number}`, Buffer.alloc(LIMIT / 4)] as const,
  );
  const batch = await encodeBatch([{ ...large, headers }], { compression: 4 });
  const [only] = (await read(batch)).messages;
  expect(only?.key).toEqual(large.key);
  expect(only?.headers.map(([name]) => name)).toEqual(["h0", "h1", "h2"]);
});

test("a key above the limit is left out", async () => {
  const batch = await encodeBatch([{ ...large, key: Buffer.alloc(LIMIT + 1) }], { compression: 4 });
  const [only] = (await read(batch)).messages;
  expect(only).toMatchObject({ key: null, value: null, headers: large.headers });
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

test("bytes that end too early are damage", async () => {
  const whole = await encodeBatch([large], {});
  const cut = Buffer.from(whole.subarray(0, 61 + PART_MAX_BYTES + 1));
  for (const [, type] of CODECS) {
    await expect(read(await compressed(cut, type))).rejects.toThrow(/cannot be decompressed/);
  }
});

import { expect, test } from "vitest";

import { DamagedBatchError } from "../../src/kafka/damaged-batch.ts";
import { decodeRecords, INFLATED_FETCH_BYTES_MAX } from "../../src/kafka/decode-fetch.ts";
import { loadInternal } from "../../src/kafka/kafkajs.ts";
import { altered, decode, encodeBatch } from "../support/record-batches.ts";

const messages = ["a", "b", "c"].map((value) => ({
  key: null,
  value: Buffer.from(value),
  headers: [],
}));

async function damageOf(records: Buffer): Promise<string> {
  const error = await decode(records).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DamagedBatchError)) throw new Error("no damage found", { cause: error });
  return error.message;
}

test("a wrong checksum is an error that names the offset and what to do", async () => {
  const batch = await encodeBatch(messages, { baseOffset: 77 });
  batch.writeUInt8(batch.readUInt8(batch.length - 2) ^ 1, batch.length - 2);
  expect(await damageOf(batch)).toMatch(
    /^The record batch at offset 77 is damaged: its checksum should be [0-9a-f]+ and is [0-9a-f]+\. Restore the partition from an intact replica/,
  );
});

test.each<[string, (copy: Buffer) => unknown, RegExp]>([
  ["more records than are there", (copy) => copy.writeInt32BE(4, 57), /record 4 of 4 has a length/],
  ["a record that is too long", (copy) => copy.writeUInt8(0x7e, 61), /record 1 of 3 has a length/],
  ["a record that is too short", (copy) => copy.writeUInt8(2, 61), /record 1 of 3 has/],
  ["a compression that does not exist", (copy) => copy.writeInt16BE(7, 21), /compression 7/],
  ["no gzip where it says so", (copy) => copy.writeInt16BE(1, 21), /cannot be decompressed/],
  ["no length", (copy) => copy.writeInt32BE(-12, 8), /its length is -12/],
  ["less than a header", (copy) => copy.writeInt32BE(20, 8), /fewer than its header/],
  ["more than there is", (copy) => copy.writeInt32BE(100_000, 8), /it announces 100012 bytes/],
])("a batch that has %s is damaged", async (_what, alter, damage) => {
  expect(await damageOf(altered(await encodeBatch(messages), alter))).toMatch(damage);
});

test("offsets removed from the end of a batch stand as one control record", async () => {
  const batch = altered(await encodeBatch(messages, { baseOffset: 10 }), (copy) => {
    copy.writeInt32BE(9, 23);
  });
  const read = await decode(batch);
  expect(read.map(({ offset, isControlRecord }) => [offset, isControlRecord])).toEqual([
    [10, false],
    [11, false],
    [12, false],
    [19, true],
  ]);
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

test("message sets of Kafka before 0.11 are left to kafkajs", async () => {
  const batch = await encodeBatch(messages);
  const old = Buffer.alloc(40);
  old.writeInt32BE(28, 8);
  old.writeInt8(1, 16);
  const decodeOld = async (records: Buffer) => [records];
  expect(await decodeRecords(old, () => null, decodeOld)).toEqual([old]);
  // Between newer ones they wait for the next fetch, as kafkajs does the other way round.
  expect(await decodeRecords(Buffer.concat([batch, old]), () => null, decodeOld)).toHaveLength(3);
});

interface FetchResponse {
  decode(payload: Buffer): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly { readonly messages: readonly { readonly offset: number }[] }[];
    }[];
  }>;
}

/**
 * A Fetch response with two topics of two partitions each; the last partition has the records, and
 * the second topic's first one others.
 */
function fetchResponse(version: number, records: Buffer, others = Buffer.alloc(0)): Buffer {
  const int = (bytes: number, value: number) => {
    const buffer = Buffer.alloc(bytes);
    if (value !== 0) buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const partition = (id: number, content: Buffer) => [
    int(4, id),
    Buffer.alloc(2 + 8 + 8 + (version < 5 ? 0 : 8)),
    int(4, 1),
    Buffer.alloc(16),
    ...(version < 11 ? [] : [int(4, -1)]),
    int(4, content.length),
    content,
  ];
  const topic = (name: string, of5: Buffer, of6: Buffer) => [
    int(2, name.length),
    Buffer.from(name),
    int(4, 2),
    ...partition(5, of5),
    ...partition(6, of6),
  ];
  return Buffer.concat([
    Buffer.alloc(version < 7 ? 4 : 10),
    int(4, 2),
    ...topic("first", Buffer.alloc(0), Buffer.alloc(0)),
    ...topic("second", others, records),
  ]);
}

test.each([4, 5, 6, 7, 8, 9, 10, 11])(
  "in version %i of Fetch the error names topic and partition",
  async (version) => {
    const response = loadInternal(
      `src/protocol/requests/fetch/v${version}/response.js`,
    ) as FetchResponse;
    const batch = await encodeBatch(messages, { baseOffset: 41 });
    const whole = JSON.stringify(await response.decode(fetchResponse(version, batch)));
    expect(whole).toContain('"topicName":"second"');
    expect(whole).toContain('"offset":43');
    batch.writeUInt8(0, 17);
    await expect(response.decode(fetchResponse(version, batch))).rejects.toMatchObject({
      name: "DamagedBatchError",
      topic: "second",
      partition: 6,
      offset: 41,
      retriable: false,
      message: expect.stringContaining("at topic second, partition 6, offset 41 is damaged"),
    });
  },
);

test("of batches that hold very much only the first are read, over all partitions", async () => {
  const response = loadInternal("src/protocol/requests/fetch/v11/response.js") as FetchResponse;
  const value = Buffer.alloc(0.4 * INFLATED_FETCH_BYTES_MAX);
  const batches = [0, 1, 2, 3].map((baseOffset) =>
    encodeBatch([{ key: null, value, headers: [] }], { baseOffset, compression: 4 }),
  );
  const records = Buffer.concat(await Promise.all(batches));
  const offsets = async (payload: Buffer) => {
    const { responses } = await response.decode(payload);
    const partitions = responses.flatMap((topic) => topic.partitions).slice(2);
    return partitions.map(({ messages: read }) => read.map(({ offset }) => offset));
  };
  const one = records.subarray(0, (await batches[0])?.length);
  const small = await encodeBatch(messages, { compression: 4 });
  expect(await offsets(fetchResponse(11, small, records))).toEqual([[0, 1, 2], []]);
  expect(await offsets(fetchResponse(11, records, one))).toEqual([[0], [0, 1]]);
  expect(await offsets(fetchResponse(11, small, one))).toEqual([[0], [0, 1, 2]]);
});

test("one batch is read whatever it holds", async () => {
  const value = Buffer.alloc(INFLATED_FETCH_BYTES_MAX);
  const batch = await encodeBatch([{ key: null, value, headers: [] }], { compression: 4 });
  expect(await decode(Buffer.concat([batch, batch]))).toHaveLength(1);
});

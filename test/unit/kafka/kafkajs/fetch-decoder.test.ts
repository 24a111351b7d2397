// Fetch responses of every version, decoded by kafkajs with our replacements.

import { expect, test } from "vitest";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { corruptInPlaceOf } from "../../../../src/kafka/wire/corrupt-batch.ts";
import { INFLATED_FETCH_MAX_BYTES } from "../../../../src/kafka/wire/decode-records.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";
import { fetchResponse } from "../../../support/kafkajs/fetch-response.ts";

const messages = ["a", "b", "c"].map((value) => ({
  key: null,
  value: Buffer.from(value),
  headers: [],
}));

interface FetchResponse {
  decode(payload: Buffer): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly { readonly messages: readonly { readonly offset: number }[] }[];
    }[];
  }>;
}

/** Decodes the response to a request for the records of the topic `second` from an offset on. */
function responseTo(version: number, fetchOffset = 0, skipsCorrupt = false): FetchResponse {
  const { protocol } = loadInternal("src/protocol/requests/fetch/index.js") as {
    protocol(choice: object): (request: object) => { readonly response: FetchResponse };
  };
  const policy = { recordMaxBytes: 16_000_000, skipsCorrupt };
  const partitions = [5, 6].map((partition) => ({ partition, fetchOffset, policy }));
  return protocol({ version })({ topics: [{ topic: "second", partitions }] }).response;
}

test.each([4, 5, 6, 7, 8, 9, 10, 11])(
  "in version %i of Fetch the error names topic and partition",
  async (version) => {
    const response = responseTo(version);
    const batch = await encodeBatch(messages, { baseOffset: 41 });
    const whole = JSON.stringify(await response.decode(fetchResponse(version, batch)));
    expect(whole).toContain('"topicName":"second"');
    expect(whole).toContain('"offset":43');
    batch.writeUInt8(0, 17);
    await expect(response.decode(fetchResponse(version, batch))).rejects.toMatchObject({
      name: "CorruptBatchError",
      topic: "second",
      partition: 6,
      offset: 41,
      retriable: false,
      message: expect.stringContaining("at topic second, partition 6, offset 41 is corrupt"),
    });
  },
);

test("of batches that hold very much only the first are read, over all partitions", async () => {
  const response = responseTo(11);
  const value = Buffer.alloc(0.4 * INFLATED_FETCH_MAX_BYTES);
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

const corruptBatch = async () => {
  const batch = await encodeBatch(messages, { baseOffset: 41 });
  return batch.fill(batch.readUInt8(70) ^ 1, 70, 71);
};

test("where corrupt batches are passed, one comes as no records, and the others' come", async () => {
  const whole = await encodeBatch(messages);
  const payload = fetchResponse(11, await corruptBatch(), whole);
  const { responses } = await responseTo(11, 41, true).decode(payload);
  const [others, corrupt] = responses[1]?.partitions ?? [];
  expect(others?.messages.map(({ offset }) => offset)).toEqual([0, 1, 2]);
  expect(corrupt?.messages).toEqual([]);
  expect(corruptInPlaceOf(corrupt?.messages ?? [])).toMatchObject({
    ...{ topic: "second", partition: 6, offset: 41, behind: 44, isEndKnown: true },
    corruption: expect.stringContaining("checksum"),
  });
  expect(corruptInPlaceOf(others?.messages ?? [])).toBeNull();
});

test("a batch whose end nobody can tell is an error all the same", async () => {
  const batch = await corruptBatch();
  batch.writeInt32BE(1_000, 23);
  const response = responseTo(11, 41, true);
  await expect(response.decode(fetchResponse(11, batch))).rejects.toMatchObject({
    at: { offset: 41, behind: 1_042, isEndKnown: false },
  });
});

test.each([4, 5, 6, 7, 8, 9, 10, 11])(
  "in version %i of Fetch a place that the broker cannot read is damage",
  async (version) => {
    const payload = fetchResponse(version, Buffer.alloc(0), Buffer.alloc(0), 2);
    await expect(responseTo(version, 41, true).decode(payload)).rejects.toMatchObject({
      name: "CorruptBatchError",
      at: { topic: "second", partition: 6, offset: 41, behind: 42, isEndKnown: false },
      message: expect.stringContaining("the broker itself cannot read the batch"),
    });
  },
);

test("other errors of a partition are left to kafkajs", async () => {
  const payload = fetchResponse(11, Buffer.alloc(0), Buffer.alloc(0), 6);
  expect(JSON.stringify(await responseTo(11).decode(payload))).toContain('"errorCode":6');
});

// Version 2 of ListOffsets, as brokers write it, beside kafkajs' own encoder and decoder.

import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { encodeListOffsets, readListedOffsets } from "../../../../src/kafka/wire/list-offsets.ts";

const request = loadInternal("src/protocol/requests/listOffsets/v2/request.js") as (
  options: object,
) => { encode(): Promise<{ readonly buffer: Buffer }> };
const { decode } = loadInternal("src/protocol/requests/listOffsets/v2/response.js") as {
  decode(payload: Buffer): Promise<{
    readonly responses: readonly {
      readonly topic: string;
      readonly partitions: readonly {
        readonly partition: number;
        readonly errorCode: number;
        readonly offset: string;
      }[];
    }[];
  }>;
};

test.each([-1, -2])("the request with timestamp %d is what kafkajs writes", async (timestamp) => {
  const topics = [
    { topic: "a", partitions: [{ partition: 0, timestamp }] },
    {
      topic: "zwölf",
      partitions: [
        { partition: 7, timestamp },
        { partition: 1, timestamp },
      ],
    },
  ];
  const { buffer } = await request({ replicaId: -1, isolationLevel: 0, topics }).encode();
  const asked = new Map([
    ["a", [0]],
    ["zwölf", [7, 1]],
  ]);
  expect(encodeListOffsets(asked, timestamp)).toEqual(buffer);
});

test("the answer is read as kafkajs reads it", async () => {
  const partition = (id: number, errorCode: number, offset: number) => {
    const buffer = Buffer.alloc(22);
    buffer.writeInt32BE(id, 0);
    buffer.writeInt16BE(errorCode, 4);
    buffer.writeBigInt64BE(-1n, 6);
    buffer.writeBigInt64BE(BigInt(offset), 14);
    return buffer;
  };
  const topic = (name: string, ...partitions: readonly Buffer[]) => {
    const head = Buffer.alloc(2 + Buffer.byteLength(name) + 4);
    head.writeInt16BE(head.write(name, 2), 0);
    head.writeInt32BE(partitions.length, head.length - 4);
    return Buffer.concat([head, ...partitions]);
  };
  const payload = Buffer.concat([
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 2]),
    topic("a", partition(3, 0, 2 ** 40), partition(0, 6, -1)),
    topic("zwölf", partition(1, 0, 5)),
  ]);
  const { responses } = await decode(payload);
  const expected = responses.flatMap(({ topic: name, partitions }) =>
    partitions.map(({ partition: id, errorCode, offset }) => {
      return { topic: name, partition: id, errorCode, offset: Number(offset) };
    }),
  );
  expect(expected).toHaveLength(3);
  expect(readListedOffsets(payload)).toEqual(expected);
});

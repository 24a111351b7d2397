// ListOffsets in the form of brokers, compared with kafkajs' own encoder and decoder.

import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import {
  encodeListOffsets,
  READ_COMMITTED,
  READ_UNCOMMITTED,
  readListedOffsets,
} from "../../../../src/kafka/wire/list-offsets.ts";

interface Response {
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
}

const { requests } = loadInternal("src/protocol/requests/index.js") as {
  readonly requests: {
    readonly ListOffsets: {
      protocol(choice: { readonly version: number }): (options: object) => {
        readonly request: { encode(): Promise<{ readonly buffer: Buffer }> };
        readonly response: Response;
      };
    };
  };
};

function ofKafkajs(version: number, options: object) {
  return requests.ListOffsets.protocol({ version })(options);
}

test.each([
  [-1, 2, READ_UNCOMMITTED],
  [-2, 2, READ_COMMITTED],
  [-1, 3, READ_COMMITTED],
  [1_700_000_000_000, 3, READ_UNCOMMITTED],
] as const)(
  "the request with timestamp %d in version %d is what kafkajs writes",
  async (timestamp, version, isolation) => {
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
    const { buffer } = await ofKafkajs(version, {
      ...{ replicaId: -1, isolationLevel: isolation, topics },
    }).request.encode();
    const asked = new Map([
      ["a", [0]],
      ["zwölf", [7, 1]],
    ]);
    expect(encodeListOffsets({ topics: asked, timestamp, isolation }, version)).toEqual(buffer);
  },
);

test.each([4, 5])(
  "version %d of the request has the leader's epoch, which is unknown",
  (version) => {
    const query = {
      topics: new Map([["t", [3]]]),
      timestamp: -1,
      isolation: READ_UNCOMMITTED,
    } as const;
    // Replica, isolation level, topics, name, partitions, partition, epoch, timestamp.
    const bytes = `${"ff".repeat(4)} 00 00000001 000174 00000001 00000003 ${"ff".repeat(4 + 8)}`;
    const expected = Buffer.from(bytes.replaceAll(" ", ""), "hex");
    expect(encodeListOffsets(query, version)).toEqual(expected);
  },
);

function responseOf(version: number): Buffer {
  const partition = (id: number, errorCode: number, offset: number) => {
    const buffer = Buffer.alloc(version < 4 ? 22 : 26);
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
  return Buffer.concat([
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 2]),
    topic("a", partition(3, 0, 2 ** 40), partition(0, 6, -1)),
    topic("zwölf", partition(1, 0, 5)),
  ]);
}

test.each([2, 3, 4, 5])("the response in version %d", (version) => {
  expect(readListedOffsets(responseOf(version), version)).toEqual([
    { topic: "a", partition: 3, errorCode: 0, offset: 2 ** 40 },
    { topic: "a", partition: 0, errorCode: 6, offset: -1 },
    { topic: "zwölf", partition: 1, errorCode: 0, offset: 5 },
  ]);
});

test.each([2, 3])("the response in version %d is read as kafkajs reads it", async (version) => {
  const payload = responseOf(version);
  const { responses } = await ofKafkajs(version, { topics: [] }).response.decode(payload);
  const expected = responses.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, errorCode, offset }) => {
      return { topic, partition, errorCode, offset: Number(offset) };
    }),
  );
  expect(expected).toHaveLength(3);
  expect(readListedOffsets(payload, version)).toEqual(expected);
});

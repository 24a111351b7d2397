// ListOffsets as brokers write it, beside kafkajs' own encoder and decoder.

import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { encodeListOffsets, readListedOffsets } from "../../../../src/kafka/wire/list-offsets.ts";

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

/** Versions 4 and 5 are those that kafkajs gets from here (`request-versions.test.ts` has their bytes). */
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
  [-1, 2],
  [-2, 2],
  [-1, 3],
  [-2, 4],
  [-1, 5],
])(
  "the request with timestamp %d in version %d is what kafkajs writes",
  async (timestamp, version) => {
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
      ...{ replicaId: -1, isolationLevel: 0, topics },
    }).request.encode();
    const asked = new Map([
      ["a", [0]],
      ["zwölf", [7, 1]],
    ]);
    expect(encodeListOffsets(asked, timestamp, version)).toEqual(buffer);
  },
);

test.each([2, 3, 4, 5])(
  "the response in version %d is read as kafkajs reads it",
  async (version) => {
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
    const payload = Buffer.concat([
      Buffer.from([0, 0, 0, 0, 0, 0, 0, 2]),
      topic("a", partition(3, 0, 2 ** 40), partition(0, 6, -1)),
      topic("zwölf", partition(1, 0, 5)),
    ]);
    const { responses } = await ofKafkajs(version, { topics: [] }).response.decode(payload);
    const expected = responses.flatMap(({ topic: name, partitions }) =>
      partitions.map(({ partition: id, errorCode, offset }) => {
        return { topic: name, partition: id, errorCode, offset: Number(offset) };
      }),
    );
    expect(expected).toHaveLength(3);
    expect(readListedOffsets(payload, version)).toEqual(expected);
  },
);

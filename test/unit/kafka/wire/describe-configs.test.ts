// DescribeConfigs in the form of brokers, compared with kafkajs' own encoder and decoder.

import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import {
  BROKER,
  encodeDescribeConfigs,
  readDescribedConfigs,
  TOPIC,
} from "../../../../src/kafka/wire/describe-configs.ts";

const { requests } = loadInternal("src/protocol/requests/index.js") as {
  readonly requests: {
    readonly DescribeConfigs: {
      protocol(choice: { readonly version: number }): (options: object) => {
        readonly request: { encode(): Promise<{ readonly buffer: Buffer }> };
        readonly response: { decode(payload: Buffer): Promise<Decoded> };
      };
    };
  };
};

interface Decoded {
  readonly resources: readonly {
    readonly resourceName: string;
    readonly errorCode: number;
    readonly errorMessage: string | null;
    readonly configEntries: readonly {
      readonly configName: string;
      readonly configValue: string | null;
    }[];
  }[];
}

function ofKafkajs(version: number, options: object) {
  return requests.DescribeConfigs.protocol({ version })(options);
}

/** Encodes strings, or numbers with their sizes in bytes, as in Kafka's protocol guide. */
function bytes(...fields: readonly (readonly [size: number, value: number] | string)[]): Buffer {
  return Buffer.concat(
    fields.map((field) => {
      if (typeof field === "string") {
        const text = Buffer.alloc(2 + Buffer.byteLength(field));
        text.writeInt16BE(text.write(field, 2));
        return text;
      }
      const number = Buffer.alloc(8);
      number.writeBigInt64BE(BigInt(field[1]));
      return number.subarray(8 - field[0]);
    }),
  );
}

test.each([
  [1, TOPIC],
  [2, BROKER],
] as const)(
  "the request in version %d for resources of kind %d is what kafkajs writes",
  async (version, kind) => {
    const [names, keys] = [
      ["1", "zwölf"],
      ["k", "l"],
    ];
    const resources = names.map((name) => ({ type: kind, name, configNames: keys }));
    const { buffer } = await ofKafkajs(version, {
      resources,
      includeSynonyms: false,
    }).request.encode();
    expect(encodeDescribeConfigs({ kind, names, keys }, version)).toEqual(buffer);
  },
);

test("version 3 of the request does not request documentation", () => {
  const asked = bytes([4, 1], [1, 2], "t", [4, 1], "k", [1, 0], [1, 0]);
  expect(encodeDescribeConfigs({ kind: TOPIC, names: ["t"], keys: ["k"] }, 3)).toEqual(asked);
});

const NULL = [2, -1] as const;

function responseOf(version: number): Buffer {
  const more = version < 3 ? [] : ([[1, 2], NULL] as const);
  const entry = (name: string, value: string | typeof NULL, source: number) =>
    bytes(name, value, [1, 0], [1, source], [1, 0], [4, 1], name, "s", [1, 5], ...more);
  return Buffer.concat([
    bytes([4, 7], [4, 2], [2, 0], NULL, [1, 2], "t", [4, 2]),
    entry("k", "v", 1),
    entry("l", NULL, 5),
    bytes([2, 29], "no right", [1, 2], "u", [4, 0]),
  ]);
}

test.each([1, 2, 3])("the response in version %d", (version) => {
  const values = new Map([
    ["k", "v"],
    ["l", null],
  ]);
  expect(readDescribedConfigs(responseOf(version), version)).toEqual([
    { name: "t", errorCode: 0, errorMessage: null, values },
    { name: "u", errorCode: 29, errorMessage: "no right", values: new Map() },
  ]);
});

test.each([1, 2])("the response in version %d is read as kafkajs reads it", async (version) => {
  const { resources } = await ofKafkajs(version, { resources: [] }).response.decode(
    responseOf(version),
  );
  const expected = resources.map(
    ({ resourceName: name, errorCode, errorMessage, configEntries }) => {
      const values = configEntries.map(
        ({ configName, configValue }) => [configName, configValue] as const,
      );
      return { name, errorCode, errorMessage, values: new Map(values) };
    },
  );
  expect(expected).toHaveLength(2);
  expect(readDescribedConfigs(responseOf(version), version)).toEqual(expected);
});

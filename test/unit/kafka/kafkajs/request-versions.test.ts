// kafkajs' own requests in the versions that a broker accepts, and the versions that kafkajs lacks.

import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import type { BrokerVersions } from "../../../../src/kafka/wire/request-version.ts";

interface Protocol {
  readonly request: {
    readonly apiVersion: number;
    readonly encode: () => Promise<{ readonly buffer: Buffer }>;
  };
  readonly response: { readonly decode: (payload: Buffer) => Promise<object> };
}

type Definition = { readonly protocol: object };

const { requests, lookup } = loadInternal("src/protocol/requests/index.js") as {
  readonly requests: Readonly<Record<string, Definition>>;
  readonly lookup: (
    versions: BrokerVersions,
  ) => (apiKey: number, definition: Definition | undefined) => (options: object) => Protocol;
};
const apiKeys = loadInternal("src/protocol/requests/apiKeys.js") as Readonly<
  Record<string, number>
>;

function sent(name: string, minVersion: number, maxVersion: number, options: object): Protocol {
  const apiKey = apiKeys[name] ?? -1;
  return lookup({ [apiKey]: { minVersion, maxVersion } })(apiKey, requests[name])(options);
}

const topics = [{ topic: "t", partitions: [{ partition: 3, timestamp: -1 }] }];
const OPTIONS: Readonly<Record<string, object>> = {
  CreateTopics: { topics: [{ topic: "t" }], timeout: 1, validateOnly: false },
  DeleteTopics: { topics: ["t"], timeout: 1 },
  DescribeConfigs: { resources: [{ type: 2, name: "t", configNames: ["k"] }] },
  GroupCoordinator: { groupId: "g", coordinatorType: 0 },
  ListOffsets: { topics },
};

test.each([
  ["ListOffsets", 0, 1, 1],
  ["ListOffsets", 0, 3, 3],
  ["ListOffsets", 1, 11, 5],
  ["ListOffsets", 4, 11, 5],
  ["ListOffsets", 5, 11, 5],
  ["CreateTopics", 0, 3, 3],
  ["CreateTopics", 2, 7, 4],
  ["CreateTopics", 4, 7, 4],
  ["DeleteTopics", 1, 6, 3],
  ["DeleteTopics", 3, 6, 3],
  ["DeleteTopics", 0, 2, 2],
  ["DescribeConfigs", 1, 4, 3],
  ["DescribeConfigs", 0, 2, 2],
])("%s, of which the broker accepts %d to %d, is sent as %d", async (name, min, max, version) => {
  const { request } = sent(name, min, max, OPTIONS[name] ?? {});
  expect(request.apiVersion).toBe(version);
  expect((await request.encode()).buffer.length).toBeGreaterThan(0);
});

test.each([
  ["ListOffsets", 6, 11, "versions 6 to 11 of the request ListOffsets"],
  ["CreateTopics", 5, 7, "versions 5 to 7 of the request CreateTopics"],
  ["DescribeConfigs", 4, 4, "version 4 of the request DescribeConfigs"],
  ["GroupCoordinator", 3, 6, "versions 3 to 6 of the request FindCoordinator"],
])("%s, of which the broker accepts %d to %d, is an error", (name, min, max, text) => {
  expect(() => sent(name, min, max, OPTIONS[name] ?? {})).toThrow(text);
});

test("a request that the broker does not list is an error", () => {
  expect(() => lookup({})(2, requests.ListOffsets)).toThrow(
    "The broker does not support the request ListOffsets",
  );
});

/** Of Kafka's protocol guide: int8, int16, int32, int64, string. */
function bytes(...fields: readonly (readonly [number, number] | string)[]): Buffer {
  return Buffer.concat(
    fields.map((field) => {
      if (typeof field === "string") {
        const text = Buffer.alloc(2 + Buffer.byteLength(field));
        text.writeInt16BE(text.write(field, 2));
        return text;
      }
      const [size, value] = field;
      const number = Buffer.alloc(8);
      number.writeBigInt64BE(BigInt(value));
      return number.subarray(8 - size);
    }),
  );
}

test("ListOffsets carries the epoch of the leader from version 4 on", async () => {
  const { request, response } = sent("ListOffsets", 4, 4, { topics });
  const asked = bytes([4, -1], [1, 1], [4, 1], "t", [4, 1], [4, 3], [4, -1], [8, -1]);
  expect((await request.encode()).buffer).toEqual(asked);
  const partition = (id: number, offset: number) =>
    bytes([4, id], [2, 0], [8, -1], [8, offset], [4, 9]);
  const payload = Buffer.concat([
    bytes([4, 7], [4, 1], "t", [4, 2]),
    partition(3, 2 ** 40),
    partition(0, 5),
  ]);
  expect(await response.decode(payload)).toEqual({
    throttleTime: 0,
    clientSideThrottleTime: 7,
    responses: [
      {
        topic: "t",
        partitions: [
          { partition: 3, errorCode: 0, timestamp: "-1", offset: `${2 ** 40}` },
          { partition: 0, errorCode: 0, timestamp: "-1", offset: "5" },
        ],
      },
    ],
  });
});

test("DescribeConfigs carries documentation from version 3 on, and does not ask for it", async () => {
  const { request, response } = sent("DescribeConfigs", 3, 3, OPTIONS.DescribeConfigs ?? {});
  const asked = bytes([4, 1], [1, 2], "t", [4, 1], "k", [1, 0], [1, 0]);
  expect((await request.encode()).buffer).toEqual(asked);
  const entry = (name: string, value: string, source: number) =>
    bytes(name, value, [1, 0], [1, source], [1, 0], [4, 1], name, "s", [1, 5], [1, 2], [2, -1]);
  const payload = Buffer.concat([
    bytes([4, 7], [4, 1], [2, 0], [2, -1], [1, 2], "t", [4, 2]),
    entry("k", "v", 1),
    entry("l", "w", 5),
  ]);
  const found = (configName: string, configValue: string, configSource: number) => ({
    ...{ configName, configValue, configSource },
    ...{ readOnly: false, isDefault: configSource === 5, isSensitive: false },
    configSynonyms: [{ configName, configValue: "s", configSource: 5 }],
  });
  expect(await response.decode(payload)).toEqual({
    throttleTime: 0,
    clientSideThrottleTime: 7,
    resources: [
      {
        ...{ errorCode: 0, errorMessage: null, resourceType: 2, resourceName: "t" },
        configEntries: [found("k", "v", 1), found("l", "w", 5)],
      },
    ],
  });
});

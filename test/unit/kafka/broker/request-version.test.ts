// The version of a request that is sent, row by row of the table in `request-version.ts`.

import { expect, test } from "vitest";

import {
  commonVersion,
  highestCommon,
  NoCommonVersionError,
} from "../../../../src/kafka/broker/request-version.ts";

test.each([
  ["the same versions", [2, 3], 2, 3, 3],
  ["the broker knows newer ones", [2, 3], 0, 11, 3],
  ["the broker knows older ones", [2, 3, 4, 5], 0, 3, 3],
  ["the broker has dropped our lowest", [2, 3, 4, 5], 4, 11, 5],
  ["the broker's minimum is our highest", [2, 3], 3, 11, 3],
  ["the broker's maximum is our lowest", [2, 3], 0, 2, 2],
  ["one version on both sides", [0], 0, 0, 0],
  ["a gap in ours", [1, 6, 10], 2, 9, 6],
  ["a broker's range within a gap of ours", [1, 10], 2, 9, null],
  ["the broker has only newer ones", [2, 3], 4, 11, null],
  ["the broker has only older ones", [3], 0, 2, null],
  // This is how a broker reports a request that it supports, but that is disabled.
  ["an empty range of the broker", [0, 1], 0, -1, null],
] as const)("%s", (_, versions, minVersion, maxVersion, expected) => {
  expect(highestCommon(versions, { minVersion, maxVersion })).toBe(expected);
});

test("a request that the broker does not know", () => {
  expect(highestCommon([0, 1], undefined)).toBeNull();
});

const LIST_OFFSETS = { apiKey: 2, apiName: "ListOffsets", versions: [2, 3, 4, 5] };
const HEARTBEAT = { apiKey: 12, apiName: "Heartbeat", versions: [3] };

test.each([
  [
    LIST_OFFSETS,
    { minVersion: 6, maxVersion: 11 },
    "kafka-1:9092",
    "The broker kafka-1:9092 accepts versions 6 to 11 of the request ListOffsets, but Switchyard can send only versions 2 to 5. Upgrade Switchyard: the broker's Kafka is too new for it.",
  ],
  [
    LIST_OFFSETS,
    { minVersion: 0, maxVersion: 1 },
    "kafka-1:9092",
    "The broker kafka-1:9092 accepts versions 0 to 1 of the request ListOffsets, but Switchyard can send only versions 2 to 5. Upgrade the broker: its Kafka is too old.",
  ],
  [
    HEARTBEAT,
    { minVersion: 4, maxVersion: 4 },
    null,
    "The broker accepts version 4 of the request Heartbeat, but Switchyard can send only version 3. Upgrade Switchyard: the broker's Kafka is too new for it.",
  ],
  [
    HEARTBEAT,
    undefined,
    "kafka-1:9092",
    "The broker kafka-1:9092 does not support the request Heartbeat, which Switchyard can send in version 3. Upgrade the broker: its Kafka is too old.",
  ],
])(
  "the error names request, versions, broker and what to do %#",
  (kind, accepted, broker, text) => {
    const refused = () => commonVersion(kind, accepted, broker);
    expect(refused).toThrow(NoCommonVersionError);
    expect(refused).toThrow(text);
  },
);

test("the version that both know is returned", () => {
  expect(commonVersion(LIST_OFFSETS, { minVersion: 1, maxVersion: 4 }, null)).toBe(4);
});

// Version 6 of Metadata, in the form of brokers: https://kafka.apache.org/protocol#The_Messages_Metadata

import { expect, test } from "vitest";

import {
  encodeLeadersRequest,
  isSameResponse,
  readLeaders,
} from "../../../../src/kafka/wire/topic-leaders.ts";

const int16 = (value: number) => [(value >> 8) & 0xff, value & 0xff];
const int32 = (value: number) => [...int16(value >> 16), ...int16(value)];
const text = (value: string) => [...int16(value.length), ...Buffer.from(value)];
const array = (items: readonly number[][]) => [...int32(items.length), ...items.flat()];

function topic(name: string, leaders: readonly number[], errorCode = 0): number[] {
  const partitions = leaders.map((leader, partition) => [
    ...int16(leader < 0 ? 5 : 0),
    ...int32(partition),
    ...int32(leader),
    ...array([int32(1), int32(2)]),
    ...array([int32(1)]),
    ...array([]),
  ]);
  // The last one is first, because the order has no meaning.
  return [...int16(errorCode), ...text(name), 0, ...array(partitions.reverse())];
}

function responseOf(topics: readonly number[][], throttleMs = 0): Buffer {
  const broker = (rack: readonly number[]) => [
    ...int32(1),
    ...text("kafka-1"),
    ...int32(9092),
    ...rack,
  ];
  return Buffer.from([
    ...int32(throttleMs),
    ...array([broker(int16(-1)), broker(text("a"))]),
    ...text("cluster"),
    ...int32(1),
    ...array(topics),
  ]);
}

test("topics are asked for by name, and none is created", () => {
  expect([...encodeLeadersRequest(["a", "bc"])]).toEqual([...array([text("a"), text("bc")]), 0]);
});

test("leaders come by partition, with the errors of topics and the addresses of brokers", () => {
  const payload = responseOf([
    topic("whole", [2, 1, 3]),
    topic("lacking", [1, -1]),
    topic("gone", [], 3),
    topic("another", [1]),
  ]);
  expect(readLeaders(payload)).toEqual({
    brokers: new Map([[1, { host: "kafka-1", port: 9092 }]]),
    topics: new Map([
      ["whole", { errorCode: 0, nodes: [2, 1, 3] }],
      ["lacking", { errorCode: 0, nodes: [1, -1] }],
      ["gone", { errorCode: 3, nodes: [] }],
      ["another", { errorCode: 0, nodes: [1] }],
    ]),
  });
});

test("a broker that asks for a pause says the same; other leaders are something else", () => {
  const before = responseOf([topic("a", [1])]);
  expect(isSameResponse(before, responseOf([topic("a", [1])], 100))).toBe(true);
  expect(isSameResponse(before, responseOf([topic("a", [2])]))).toBe(false);
});

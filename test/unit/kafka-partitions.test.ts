import { expect, test } from "vitest";

import { groupByPartition, javaPartitioner } from "../../src/kafka/group-by-partition.ts";
import { partitionOfKey } from "../../src/kafka/murmur2.ts";

const partitions = (leaders: readonly number[]) =>
  leaders.map((leader, partitionId) => ({
    partitionId,
    leader,
    partitionErrorCode: 0,
    replicas: [],
    isr: [],
  }));
const value = Buffer.from("v");

function place(
  messages: Parameters<typeof groupByPartition>[0]["messages"],
  leaders: readonly number[],
) {
  const partitioner = javaPartitioner();
  const partitionMetadata = partitions(leaders);
  return groupByPartition({ topic: "t", partitionMetadata, messages, partitioner });
}

test("a key's partition is Java's, also when it has no leader", () => {
  // kafka-clients: Utils.toPositive(Utils.murmur2("user-1".getBytes())) % 12
  const key = Buffer.from("user-1");
  const expected = partitionOfKey(key, 12);
  const leaders = Array.from({ length: 12 }, (_, partition) => (partition === expected ? -1 : 0));
  expect(
    Object.keys(
      place(
        [
          { key, value },
          { key: "user-1", value },
        ],
        leaders,
      ),
    ),
  ).toEqual([`${expected}`]);
});

test("a given partition wins over the key", () => {
  expect(place([{ key: "user-1", value, partition: 2 }], [0, 0, 0])).toHaveProperty("2");
});

test("null keys go round the partitions that have a leader", () => {
  const messages = Array.from({ length: 6 }, () => ({ key: null, value }));
  const groups = place(messages, [0, -1, 0, 0]);
  expect(Object.entries(groups).map(([partition, group]) => [partition, group.length])).toEqual([
    ["0", 2],
    ["2", 2],
    ["3", 2],
  ]);
});

test("with no leader at all null keys still get a partition", () => {
  expect(Object.keys(place([{ key: null, value }], [-1, -1]))).toHaveLength(1);
});

test("a partition's records keep their order, however many they are", () => {
  const messages = Array.from({ length: 200_000 }, (_, index) => ({
    key: null,
    value,
    partition: 0,
    timestamp: `${index}`,
  }));
  expect(place(messages, [0])["0"]).toEqual(messages);
});

test("a topic without partitions gets no records", () => {
  expect(place([{ key: "user-1", value }], [])).toEqual({});
});

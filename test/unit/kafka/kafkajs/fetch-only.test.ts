// Whether a broker leads any of the partitions that are wanted.

import { expect, test } from "vitest";

import type {
  ConsumerGroup,
  TopicPartitions,
} from "../../../../src/kafka/kafkajs/consumer-group.ts";
import { KafkajsMember } from "../../../../src/kafka/kafkajs/membership.ts";

/** Broker 1 leads topic p, broker 2 topic t. */
const group = {
  getActiveTopicPartitions: () => ({ t: new Set([0]), p: new Set([0]) }),
  filterPartitionsByNode: (nodeId: string, wanted: readonly TopicPartitions[]) =>
    wanted.map(({ topic, partitions }) => ({
      topic,
      partitions: (topic === "p") === (nodeId === "1") ? partitions : [],
    })),
};

test.each([
  ["1", "p", true],
  ["2", "p", false],
  ["1", "t", false],
  ["2", "t", true],
  ["1", "another", false],
])("broker %s and topic %s: %s", (nodeId, wanted, expected) => {
  const member = new KafkajsMember(group as unknown as ConsumerGroup);
  expect(member.readsFrom(nodeId, (topic) => topic === wanted)).toBe(expected);
});

test("while a topic's leaders are not known nothing is read from a broker", () => {
  const unknown = {
    ...group,
    filterPartitionsByNode: () => {
      throw new Error("no metadata");
    },
  };
  const member = new KafkajsMember(unknown as unknown as ConsumerGroup);
  expect(member.readsFrom("1", () => true)).toBe(false);
});

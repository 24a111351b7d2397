/**
 * Which partition a record goes to, and a topic's records by partition in one pass.
 *
 *   the record has        it goes to
 *   a partition           that one
 *   a key                 murmur2 of the key, as Java's producers place it
 *   neither               the partitions that have a leader in turn; all of them when none has
 *
 * kafkajs copies a partition's list for every record that it adds, and hashes on 64-bit integers.
 */

import type { ICustomPartitioner, Message, PartitionMetadata } from "kafkajs";

import type { Replacement } from "./load-kafkajs.ts";
import { partitionOfKey } from "./murmur2.ts";

/** To be passed as `createPartitioner`. */
export const javaPartitioner: ICustomPartitioner = () => {
  const nextOf = new Map<string, number>();
  return ({ topic, partitionMetadata, message }) => {
    const { partition, key } = message;
    if (partition !== undefined && partition !== null) return partition;
    if (key !== undefined && key !== null) {
      return partitionOfKey(
        Buffer.isBuffer(key) ? key : Buffer.from(key),
        partitionMetadata.length,
      );
    }
    const next = nextOf.get(topic) ?? 0;
    nextOf.set(topic, (next + 1) | 0);
    const led = partitionMetadata.filter(({ leader }) => leader >= 0);
    const choice = led.length > 0 ? led : partitionMetadata;
    return choice[(next & 0x7fffffff) % choice.length]?.partitionId ?? 0;
  };
};

interface GroupArguments {
  readonly topic: string;
  readonly partitionMetadata: PartitionMetadata[];
  readonly messages: readonly Message[];
  readonly partitioner: ReturnType<ICustomPartitioner>;
}

/** Messages by partition, each partition's in their order. */
export function groupByPartition(grouping: GroupArguments): Record<string, Message[]> {
  const { topic, partitionMetadata, messages, partitioner } = grouping;
  const groups: Record<string, Message[]> = {};
  if (partitionMetadata.length === 0) return groups;
  for (const message of messages) {
    const partition = partitioner({ topic, partitionMetadata, message });
    const group = groups[partition];
    if (group === undefined) groups[partition] = [message];
    else group.push(message);
  }
  return groups;
}

export const partitionGroups: Replacement = {
  name: "group-by-partition",
  module: "src/producer/groupMessagesPerPartition.js",
  replace: () => groupByPartition,
};

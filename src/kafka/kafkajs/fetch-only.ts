/**
 * Fetches some of a consumer's partitions alone. They are not chosen by pausing the others: that
 * would reach into fetches of other brokers, which drop what has come of a partition that is paused.
 */

import type { IsWanted } from "../membership.ts";
import type { ConsumerGroup, KafkajsBatch } from "./consumer-group.ts";

/** The group's own `fetch`, before it is wrapped. */
export type GroupFetch = (this: ConsumerGroup, nodeId: string) => Promise<KafkajsBatch[]>;

/** Whether a fetch from the node would ask for any of them. False while that cannot be told. */
export function readsFrom(group: ConsumerGroup, nodeId: string, isWanted: IsWanted): boolean {
  const wanted = Object.entries(activeOnly(group, isWanted))
    .map(([topic, partitions]) => ({ topic, partitions: [...partitions] }))
    .filter(({ partitions }) => partitions.length > 0);
  if (wanted.length === 0) return false;
  try {
    const here = group.filterPartitionsByNode(nodeId, wanted);
    return here.some(({ partitions }) => partitions.length > 0);
  } catch {
    // The topic's leaders are not known at the moment: the next fetch of all asks for them.
    return false;
  }
}

/** @param maxWaitMs how long the broker may wait for a record. */
export function fetchOnly(
  group: ConsumerGroup,
  fetch: GroupFetch,
  nodeId: string,
  maxWaitMs: number,
  isWanted: IsWanted,
): Promise<KafkajsBatch[]> {
  // The original runs on an object that differs from the group in these alone.
  const narrowed = Object.create(group, {
    maxWaitTime: { value: maxWaitMs },
    getActiveTopicPartitions: { value: () => activeOnly(group, isWanted) },
    // The changes of a join have to be made in the group itself.
    recoverFromFetch: { value: (error: unknown) => group.recoverFromFetch(error) },
  }) as ConsumerGroup;
  return fetch.call(narrowed, nodeId);
}

/** kafkajs looks every topic up, so that each has to be there. */
function activeOnly(group: ConsumerGroup, isWanted: IsWanted): Record<string, Set<number>> {
  return Object.fromEntries(
    Object.entries(group.getActiveTopicPartitions()).map(([topic, partitions]) => [
      topic,
      new Set([...partitions].filter((partition) => isWanted(topic, partition))),
    ]),
  );
}

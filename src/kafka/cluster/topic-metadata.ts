/** Fetches the partitions of topics and their leaders. */

import { type Broker, request } from "../kafkajs/internals.ts";
import { possiblePartition } from "../wire/flexible.ts";

export interface ClusterMetadata {
  readonly brokers: readonly {
    readonly nodeId: number;
    readonly host: string;
    readonly port: number;
  }[];
  /** The node ID of the controller, which creates, changes and deletes topics. */
  readonly controllerId: number;
  readonly topicMetadata: readonly TopicMetadata[];
}

export interface TopicMetadata {
  readonly topic: string;
  /** 0 if the topic exists and is visible. */
  readonly topicErrorCode: number;
  readonly partitionMetadata: readonly {
    readonly partitionId: number;
    /** Negative if there is currently no leader. */
    readonly leader: number;
    readonly replicas: readonly number[];
    /** The in-sync replicas. */
    readonly isr: readonly number[];
  }[];
}

/** @param topics at least one, or null for all. The response contains the errors of individual topics. */
export async function fetchMetadata(
  broker: Broker,
  topics: readonly string[] | null,
): Promise<ClusterMetadata> {
  const options = { topics: topics ?? [], allowAutoTopicCreation: false };
  const metadata = await request<ClusterMetadata>(broker, "Metadata", options);
  for (const { partitionMetadata } of metadata.topicMetadata)
    for (const { partitionId } of partitionMetadata) possiblePartition(partitionId);
  return metadata;
}

/** `true` if every partition has a leader. */
export function isUsable({ topicErrorCode, partitionMetadata }: TopicMetadata): boolean {
  return topicErrorCode === 0 && partitionMetadata.every(({ leader }) => leader >= 0);
}

/** Fetches the partitions of topics and their leaders. */

import type { Broker } from "../broker/broker-connection.ts";
import { metadata } from "../broker/requests.ts";
import { possiblePartition } from "../broker/topic-leaders.ts";

export interface ClusterMetadata {
  readonly brokers: readonly {
    readonly nodeId: number;
    readonly host: string;
    readonly port: number;
  }[];
  /** The node ID of the controller, which creates, changes and deletes topics. */
  readonly controllerId: number;
  readonly topics: readonly TopicMetadata[];
}

export interface TopicMetadata {
  readonly name?: string | null | undefined;
  /** 0 if the topic exists and is visible. */
  readonly errorCode: number;
  readonly partitions: readonly {
    readonly partitionIndex: number;
    /** Negative if there is currently no leader. */
    readonly leaderId: number;
    readonly replicaNodes: readonly number[];
    /** The in-sync replicas. */
    readonly isrNodes: readonly number[];
  }[];
}

/** @param topics at least one, or null for all. The response contains the errors of individual topics. */
export async function fetchMetadata(
  broker: Broker,
  topics: readonly string[] | null,
): Promise<ClusterMetadata> {
  const fetched = await broker.send(metadata(topics && [...topics], false));
  for (const { partitions } of fetched.topics)
    for (const { partitionIndex } of partitions) possiblePartition(partitionIndex);
  return fetched;
}

/** `true` if every partition has a leader. */
export function isUsable({ errorCode, partitions }: TopicMetadata): boolean {
  return errorCode === 0 && partitions.every(({ leaderId }) => leaderId >= 0);
}

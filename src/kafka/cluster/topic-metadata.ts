/** Asks which partitions topics have and which brokers lead them, without kafkajs' bookkeeping. */

import { type Broker, request } from "../kafkajs/internals.ts";

export interface ClusterMetadata {
  readonly brokers: readonly {
    readonly nodeId: number;
    readonly host: string;
    readonly port: number;
  }[];
  /** The broker that changes topics. */
  readonly controllerId: number;
  readonly topicMetadata: readonly TopicMetadata[];
}

export interface TopicMetadata {
  readonly topic: string;
  /** 0 when the topic exists and may be seen. */
  readonly topicErrorCode: number;
  readonly partitionMetadata: readonly {
    readonly partitionId: number;
    /** Below 0: none at the moment. */
    readonly leader: number;
    readonly replicas: readonly number[];
    /** Those of them that are in sync. */
    readonly isr: readonly number[];
  }[];
}

/** @param topics at least one, or null for all. Errors of single topics stand in the answer. */
export function fetchMetadata(
  broker: Broker,
  topics: readonly string[] | null,
): Promise<ClusterMetadata> {
  return request(broker, "Metadata", { topics: topics ?? [], allowAutoTopicCreation: false });
}

/** Whether every partition has a leader. */
export function isUsable({ topicErrorCode, partitionMetadata }: TopicMetadata): boolean {
  return topicErrorCode === 0 && partitionMetadata.every(({ leader }) => leader >= 0);
}

/** Types for the parts of kafkajs' `ConsumerGroup` that are used here. */

import type { FetchedRecord, OldMessage } from "../wire/fetched-record.ts";
import type { FetchPolicy } from "./fetch-decoder.ts";

export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: number[];
}

/** As in kafkajs, plus a policy for each partition. */
export interface FetchRequest {
  readonly maxWaitTime: number;
  readonly maxBytes: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
      readonly policy: FetchPolicy;
    }[];
  }[];
}

export interface FetchBroker {
  readonly connectionPool: object;
  fetch(request: FetchRequest): Promise<unknown>;
}

export interface TopicMetadata {
  readonly topic: string;
  readonly partitionMetadata: readonly {
    readonly partitionId: number;
    readonly leader: number;
  }[];
}

/** The brokers and topics that a consumer knows. */
interface KnownBrokers {
  /** Null before the first request for metadata. */
  readonly metadata: { readonly topicMetadata: readonly TopicMetadata[] } | null;
  /** In epoch milliseconds; null: the next fetch refreshes it. */
  metadataExpireAt: number | null;
  refreshMetadata(topics: readonly string[]): Promise<void>;
  removeBroker(address: { readonly host: string; readonly port: number }): void;
  getNodeIds(): readonly string[];
}

/** kafkajs has one for each consumer. */
interface GroupCluster {
  /** Undefined only in tests. */
  readonly brokerPool?: KnownBrokers;
  findBroker(node: { readonly nodeId: string }): Promise<FetchBroker>;
  refreshMetadata(): Promise<void>;
  /** Queries the brokers, and connects to the one that they name. */
  findGroupCoordinator(of: { readonly groupId: string }): Promise<object>;
}

/** The part of a group that is about its coordinator: the broker that it was at the last join. */
export interface CoordinatedGroup {
  readonly groupId: string;
  readonly cluster: Pick<GroupCluster, "findGroupCoordinator">;
  /** Used by joins and heartbeats. */
  coordinator: object | null;
  /** Null before the first join. */
  readonly offsetManager: {
    /** Used by commits. */
    coordinator: object;
  } | null;
}

type Offsets = Readonly<Record<string, Record<number, string | undefined>>>;

/** The state that kafkajs keeps of its membership in a group; a new one for each `run`. */
export interface ConsumerGroup extends CoordinatedGroup {
  readonly cluster: GroupCluster;
  /** Read again for each fetch. */
  maxWaitTime: number;
  /** Also read again for each fetch. */
  maxBytesPerPartition: number;
  /** When the last heartbeat got a response, in epoch milliseconds. */
  lastRequest: number;
  /** Null before the first join. */
  readonly memberId: string | null;
  readonly generationId: number;
  /** A new one for each join. */
  readonly offsetManager: {
    coordinator: object;
    /** The member ID of that join. */
    readonly memberId: string;
    readonly generationId: number;
    /** By topic and partition: where reading continues. Empty before the first fetch; negative: not known yet. */
    readonly resolvedOffsets: Offsets;
    /** The same, as committed. */
    committedOffsets(): Offsets;
    /** The offset at which the next fetch of the partition starts: a `Long`. */
    nextOffset(topic: string, partition: number): { toString(): string };
  };
  /** Added by us. */
  endFetches?: () => void;
  joinAndSync(): Promise<void>;
  /** Batches of the node's partitions, an empty one for each without records. */
  fetch(nodeId: string): Promise<KafkajsBatch[]>;
  /** The partitions that are read from the node; every topic stays in the list. */
  filterPartitionsByNode(
    nodeId: string,
    topicPartitions: readonly TopicPartitions[],
  ): TopicPartitions[];
  getActiveTopicPartitions(): Readonly<Record<string, ReadonlySet<number>>>;
  recoverFromFetch(error: unknown): Promise<void>;
  /** Sends a heartbeat if the last one was `interval` milliseconds ago or more. */
  heartbeat(request: { readonly interval: number }): Promise<void>;
  /** The next fetch of the partition starts after `offset`. */
  resolveOffset(at: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: string;
  }): void;
  /** One attempt, as the member of the latest join. */
  commitOffsets(request: { readonly topics: readonly OffsetsOfTopic[] }): Promise<void>;
  pause(topicPartitions: readonly TopicPartitions[]): void;
  resume(topicPartitions: readonly TopicPartitions[]): void;
  paused(): TopicPartitions[];
  isPaused(topic: string, partition: number): boolean;
}

export interface OffsetsOfTopic {
  readonly topic: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly offset: string;
    readonly metadata: string;
  }[];
}

/** kafkajs' `Batch`: what one fetch returned for one partition. */
export interface KafkajsBatch {
  readonly topic: string;
  readonly partition: number;
  readonly fetchedOffset: string;
  readonly highWatermark: string;
  /** Without control records, aborted transactions and records before the fetched offset. */
  readonly messages: readonly (FetchedRecord | OldMessage)[];
  /** Including all of them. */
  readonly rawMessages: readonly unknown[];
  lastOffset(): string | number;
}

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

/** The brokers and topics known to a consumer. */
interface KnownBrokers {
  /** Null before the first request for metadata. */
  readonly metadata: { readonly topicMetadata: readonly TopicMetadata[] } | null;
  /** In epoch milliseconds; null if the next fetch has to refresh the metadata. */
  metadataExpireAt: number | null;
  refreshMetadata(topics: readonly string[]): Promise<void>;
  removeBroker(address: { readonly host: string; readonly port: number }): void;
  getNodeIds(): readonly string[];
}

/** kafkajs creates one for each consumer. */
interface GroupCluster {
  /** Undefined only in tests. */
  readonly brokerPool?: KnownBrokers;
  findBroker(node: { readonly nodeId: string }): Promise<FetchBroker>;
  refreshMetadata(): Promise<void>;
  /** Queries the brokers for the coordinator, and connects to it. */
  findGroupCoordinator(of: { readonly groupId: string }): Promise<object>;
}

/** The part of a group that concerns its coordinator, as of the last join. */
export interface CoordinatedGroup {
  readonly groupId: string;
  readonly cluster: Pick<GroupCluster, "findGroupCoordinator">;
  /** The coordinator for joins and heartbeats. */
  coordinator: object | null;
  /** Null before the first join. */
  readonly offsetManager: {
    /** The coordinator for commits. */
    coordinator: object;
  } | null;
}

type Offsets = Readonly<Record<string, Record<number, string | undefined>>>;

/** kafkajs' state of a membership in a group; a new object for each `run`. */
export interface ConsumerGroup extends CoordinatedGroup {
  readonly cluster: GroupCluster;
  /** Read again for each fetch. */
  maxWaitTime: number;
  /** Read again for each fetch, like `maxWaitTime`. */
  maxBytesPerPartition: number;
  /** When the last heartbeat got a response, in epoch milliseconds. */
  lastRequest: number;
  /** Null before the first join. */
  readonly memberId: string | null;
  readonly generationId: number;
  /** A new object for each join. */
  readonly offsetManager: {
    coordinator: object;
    /** The member ID as of that join. */
    readonly memberId: string;
    readonly generationId: number;
    /**
     * By topic and partition: the offset at which reading continues. Empty before the first fetch; negative if
     * not known yet.
     */
    readonly resolvedOffsets: Offsets;
    /** The committed offsets, by topic and partition. */
    committedOffsets(): Offsets;
    /** The offset at which the next fetch of the partition starts: a `Long`. */
    nextOffset(topic: string, partition: number): { toString(): string };
  };
  /** Added by our code. */
  endFetches?: () => void;
  joinAndSync(): Promise<void>;
  /** Fetches batches of the partitions that are read from the node; a partition without records has an empty batch. */
  fetch(nodeId: string): Promise<KafkajsBatch[]>;
  /** Removes partitions that are not read from the node, but keeps every topic in the list. */
  filterPartitionsByNode(
    nodeId: string,
    topicPartitions: readonly TopicPartitions[],
  ): TopicPartitions[];
  getActiveTopicPartitions(): Readonly<Record<string, ReadonlySet<number>>>;
  recoverFromFetch(error: unknown): Promise<void>;
  /** Sends a heartbeat if the last one was `interval` milliseconds ago or more. */
  heartbeat(request: { readonly interval: number }): Promise<void>;
  /** Makes the next fetch of the partition start after `offset`. */
  resolveOffset(at: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: string;
  }): void;
  /** Makes one attempt to commit, as the member of the latest join. */
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

/** kafkajs' `Batch`: the result of one fetch for one partition. */
export interface KafkajsBatch {
  readonly topic: string;
  readonly partition: number;
  readonly fetchedOffset: string;
  readonly highWatermark: string;
  /** The records without control records, aborted transactions and records before the requested offset. */
  readonly messages: readonly (FetchedRecord | OldMessage)[];
  /** All records, including control records, aborted transactions and earlier records. */
  readonly rawMessages: readonly unknown[];
  lastOffset(): string | number;
}

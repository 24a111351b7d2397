/**
 * What the stages need of Kafka, and nothing more. In this folder `kafkajs` implements it; tests have a
 * second implementation in memory with a manual clock, and one contract suite runs against both.
 *
 * Consuming is at least once. Records are passed on in offset order and may be processed in any order.
 * The committed offset never passes an unprocessed record; processed ones above it are listed in the
 * commit's metadata and skipped after a restart. A handler may hold the committed offset further back.
 * Processed records above it are then passed on again.
 *
 *   the life of a partition here          what the consumer does
 *   assigned                              calls `onAssigned`, then `take` with records
 *   its room is used up                   passes on nothing more until records are processed
 *   revoked, or the consumer stops        `drain()`, at most `drainLimitMs`; commits; fences
 *   fenced                                `finish` does nothing: another consumer owns the partition
 */

import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { AppendTime } from "../runtime/broker-clock.ts";
import type { Admin, PartitionOffset } from "./admin-port.ts";
import { TextBundles as Bundles } from "./produce/text-bundles.ts";
import type { ClusterView, ConsumerVitals, PartitionProgress } from "./signals.ts";
import { partitionOfKey as murmur2Partition } from "./wire/murmur2.ts";
import { packRecord as asBytes } from "./wire/record-bundle.ts";

export interface Kafka {
  /** Starts joining immediately; `joined` resolves when it has. Topics must exist. */
  consume(options: ConsumeOptions): Consumer;
  /** One producer per process is enough: callers' records are combined into few requests. */
  producer(options?: ProducerOptions): WatchedProducer;
  /**
   * The stored records of a part of one partition, a step at a time. Belongs to no group and commits
   * nothing. Removed records (retention, compaction) are skipped. Records behind an open transaction
   * are waited for, until the signal aborts: then it ends.
   *
   * @throws Error with topic, partition and offset if nothing could be read for 30 seconds, or
   *   immediately if waiting does not help (missing topic or permission, corrupt batch).
   */
  read(range: ReadRange): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /**
   * The records from an offset on, and then each as it is written, until the signal aborts. Belongs to no
   * group. It ends if the log was recreated and does not reach that offset.
   *
   * @throws Error as `read` does.
   */
  follow(range: Omit<ReadRange, "to">): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /** The corrupt batch at this offset; null if there is none. Otherwise throws as `read` does. */
  corruptionAt(place: PartitionOffset & { readonly topic: string }): Promise<CorruptBatch | null>;
  readonly admin: Admin;
  /**
   * Checks the brokers and the log end offsets of all owned partitions every few seconds, until `close`.
   * `progress()` of consumers uses the results; without it, progress is as old as the last fetch.
   */
  watch(): ClusterView;
  /** Stops every consumer that still runs, closes the producers and all connections. */
  close(): Promise<void>;
}

export interface ReadRange {
  readonly topic: string;
  readonly partition: number;
  /** The first offset to read. */
  readonly from: number;
  /** The offset at which reading ends, at most the log end offset. */
  readonly to: number;
  /** Limit of one step. At least one record is always read. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Bytes that several consumers share. Created once and passed to each of them. */
export interface CommonBytes {
  inFlight: number;
  readonly max: number;
  /**
   * Each of them has this many bytes in any case, instead of its `maxBytes`; changes with their number.
   * Null: its `maxBytes`.
   */
  each: number | null;
}

export function commonBytes(max: number): CommonBytes {
  return { inFlight: 0, max, each: null };
}

export interface ConsumeOptions {
  readonly groupId: string;
  /** Subscribed once, for the consumer's life. */
  readonly topics: readonly string[];
  /** The most unprocessed records of one partition. At least 1. */
  readonly partitionRecordsMax: number;
  /**
   * The most bytes of unprocessed records of this consumer. At least one record is always accepted. With
   * `pause` each partition has an equal share, so that none blocks the others.
   */
  readonly maxBytes: number;
  /** Bytes that it may use beyond `maxBytes`, shared with others; by default none. */
  readonly commonBudget?: CommonBytes;
  /**
   * How to wait for room. `hold`: the fetch loop waits, which also stops the consumer's other partitions,
   * and continues immediately. `pause`: only this partition stops.
   */
  readonly whenFull: "hold" | "pause";
  /**
   * Those of `topics` whose records pass the others': with `hold` they are fetched even while the loop
   * waits, and have a separate quarter of `maxBytes`; when that is used up, they pause.
   */
  readonly passingTopics?: readonly string[];
  /**
   * Least time, in milliseconds, between fetches from a broker while they leave no records behind; by
   * default 10, which is also the minimum. Longer times cost less CPU, for records that are not urgent.
   */
  readonly fetchSpacingMs?: number;
  /** Longest wait for `drain()`. */
  readonly drainLimitMs: number;
  readonly onAssigned: (partition: AssignedPartition) => PartitionHandler;
  /**
   * Called for each corrupt batch that is skipped. Absent: a corrupt batch is a crash. It always is one if
   * the batch's end is unknown. A batch that was skipped is read again after a crash, like a record that
   * was not committed. Must not throw.
   */
  readonly onSkipped?: (batch: CorruptBatch) => void;
  /**
   * The consumer has failed permanently (deleted topic: `TopicGoneError`; missing permission:
   * `MissingPermissionError`; corrupt batch) and is closed.
   */
  readonly onCrash: (error: Error) => void;
}

/** A partition while this process owns it. */
export interface AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  /**
   * Differs from the ID of a deleted topic that had the same name, or of one on another cluster. Known
   * from the first `take` on. Empty if the brokers have no IDs.
   */
  topicId(): string;
  /** The record at `offset` is processed, and the resulting writes are acknowledged. */
  finish(offset: number): void;
  /**
   * Keeps the committed offset at or below `offset`, although records from there on are processed. The
   * partition's next owner gets them again. Null ends that. Call it before the record at `offset` is
   * processed.
   */
  hold(offset: number | null): void;
  /**
   * Resolves with `true` if no other consumer can own the partition yet. While the session cannot have
   * expired it resolves immediately; after that it queries the coordinator and waits for its response.
   * For writes that a successor would contradict: call it before each write.
   */
  isOurs(): Promise<boolean>;
}

export interface PartitionHandler {
  /**
   * Called with each record before it is passed on: `take` gets what it returns. A promise: the record is
   * not passed on yet. Then only its partition waits, whatever `whenFull` is, and `admit` is called again
   * when the promise resolves. The wait puts nothing more of the partition in flight: fetched records
   * that are not passed on are kept, and no more are fetched. Absent: records are passed on as they
   * come. Must not throw; the promise must not reject.
   */
  readonly admit?: (record: IncomingRecord) => IncomingRecord | Promise<void>;
  /** Takes records, in offset order, and returns immediately. At most 1,000 per call. Must not throw. */
  take(records: readonly IncomingRecord[]): void;
  /**
   * The partition is being revoked: start nothing new; resolves when everything in flight is processed.
   * Records that were not started are left. May be called more than once.
   */
  drain(): Promise<void>;
}

export interface Consumer {
  /** Resolves when this consumer has its (perhaps empty) first assignment. */
  readonly joined: Promise<void>;
  /** Drains, commits, leaves the group. Safe to call more than once. */
  stop(): Promise<void>;
  /** The progress of each owned partition. Cheap; for metrics and health. */
  progress(): readonly PartitionProgress[];
  vitals(): ConsumerVitals;
  /** Rebalances since the start, including the first join. */
  rebalances(): number;
  /**
   * How often since the start a partition's log did not contain the next record: records were deleted
   * before they were read. Reading continues with the first one that is left.
   */
  offsetResets(): number;
}

/** A record that was not written. */
export interface RejectedRecord {
  readonly record: OutgoingRecord;
  readonly error: string;
  /** Absent: it is too large. Present only in results of a send with `giveBack`. */
  readonly blocked?: BlockedBy;
}

/**
 * The topic is missing; the permission to write it is missing; or its partition rejects writes for another
 * reason: no leader, an error.
 */
export type BlockedBy = "missing" | "forbidden" | "unavailable";

export interface SendOptions {
  /**
   * Returns records whose topic or partition has not been writable for 2 s, instead of waiting for it. If
   * the brokers' response was lost, a returned record may have been written all the same.
   */
  readonly giveBack?: boolean;
}

/** A topic that has not been writable for 2 s or longer, as a whole or in a partition. */
export interface BlockedTopic {
  readonly topic: string;
  readonly sinceMs: number;
  readonly by: BlockedBy;
  /**
   * Kafka's name of the last error, followed by the partition if that is missing. Instead, the missing
   * permission and how to grant it, if that is the reason.
   */
  readonly error: string;
}

export interface ProducerOptions {
  /** Called repeatedly while a topic that is written is missing. Must not throw. */
  readonly onMissing?: (topic: string) => void;
  /** Called when brokers have responded to a write, with the time that it took. Must not throw. */
  readonly onResponse?: (durationMs: number) => void;
  /**
   * Called for each batch that is retried, with Kafka's name of the error, or `no-answer`. Must not throw.
   */
  readonly onRetried?: (error: string) => void;
  /**
   * Called with the broker's time of each batch of a topic with `message.timestamp.type=LogAppendTime`.
   * The other times are from `performance.now()`. Must not throw.
   */
  readonly onAppended?: (time: AppendTime) => void;
}

export interface Producer {
  /**
   * Resolves with the records that are too large, once all others are acknowledged by all in-sync
   * replicas. Records from one caller to one partition keep their order. During an outage it waits and
   * retries; what is still unacknowledged at `close()` rejects with `ClosedError`.
   */
  send(
    records: readonly OutgoingRecord[],
    options?: SendOptions,
  ): Promise<readonly RejectedRecord[]>;
  /** Waits at most `limitMs` for what is in flight. */
  close(limitMs: number): Promise<void>;
}

/** A producer as returned by `Kafka`. */
export interface WatchedProducer extends Producer {
  /** The number of partitions of a topic that it writes; 0 if not known yet. */
  partitions(topic: string): number;
  /** Topics that are not writable now. */
  blocked(): readonly BlockedTopic[];
}

export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/** A consumer's topic, or one of its partitions, was missing. By now it may exist again. */
export class TopicGoneError extends Error {
  override readonly name = "TopicGoneError";
}

/** Brokers rejected a request: the message names the missing permission, and how to grant it. */
export class MissingPermissionError extends Error {
  constructor(text: string, cause: unknown) {
    super(text, { cause });
  }
}

export type {
  Admin,
  ClusterVersions,
  CommittedOffset,
  OnRejected,
  OnUnknown,
  PartitionOffset,
  PartitionOffsets,
  RejectedSetting,
  RequestVersions,
  TopicSpec,
  TopicState,
  VersionRange,
} from "./admin-port.ts";
export type { TextBundles } from "./produce/text-bundles.ts";
export type { BrokerState, ClusterView, ConsumerVitals, PartitionProgress } from "./signals.ts";

/** Copies the record's bytes to a separate block, so that a record that waits keeps no fetch alive. */
export const packRecord: (record: OutgoingRecord) => OutgoingRecord = asBytes;

/** For writing very many records to a topic with this producer. */
export function textBundles(topic: string, producer: Pick<WatchedProducer, "partitions">): Bundles {
  return new Bundles(topic, () => producer.partitions(topic));
}

/** The partition that the producer, like Java's, chooses for a key. */
export const partitionOfKey: (key: Uint8Array, partitions: number) => number = murmur2Partition;

/**
 * How to reach the cluster. Passed in, so that the code in this folder does not depend on the configuration.
 *
 * `tls` and `sasl` are read again for each connection and each authentication, so that certificates and
 * passwords can change meanwhile. The mechanism cannot change, nor whether there is one.
 */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Null: plaintext. PEM strings; if `ca` is null, the public roots. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
    /** The name in the brokers' certificates; null: the host of each address. */
    readonly serverName: string | null;
  } | null;
  readonly sasl: KafkaSasl | null;
  readonly sessionTimeoutMs: number;
  /** The largest record (key, value and headers) that a topic allows. */
  readonly recordMaxBytes: (topic: string) => number;
}

export type KafkaSasl =
  | {
      readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: "oauthbearer";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope: string | null;
    }
  /** Amazon MSK, with the role of the process. */
  | { readonly mechanism: "aws-msk-iam"; readonly region: string };

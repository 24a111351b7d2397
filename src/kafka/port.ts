/**
 * The interface through which the stages use Kafka. `kafkajs/` implements this port. Tests have a second implementation
 * in memory with a manual clock, and one contract suite runs against both.
 *
 * Records are consumed at least once. Records are passed on in offset order and may be processed in any order.
 * The committed offset is never higher than the first unprocessed record. Processed records above the
 * committed offset are listed in the commit's metadata and skipped after a restart. A handler may hold the committed
 * offset further back; after a restart, the processed records above the held offset are then passed on again.
 *
 *   the partition is                      the consumer
 *   assigned                              calls `onAssigned`, then `take` with records
 *   out of room                           stops passing on records until some are processed
 *   revoked, or the consumer stops        calls `drain()`, waits at most `drainLimitMs`, commits, fences
 *   fenced                                ignores `finish`: another consumer owns the partition
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
  /** Starts joining immediately; `joined` resolves when the consumer has joined. The topics must exist. */
  consume(options: ConsumeOptions): Consumer;
  /** One producer per process is sufficient, because it combines the records of all callers into few requests. */
  producer(options?: ProducerOptions): WatchedProducer;
  /**
   * Reads the stored records of a range of one partition, a step at a time, without a group and without
   * commits. Removed records (retention, compaction) are skipped. If a transaction is open, the records behind it are
   * returned only when it has ended; the wait ends early if the signal aborts.
   *
   * @throws Error with topic, partition and offset if nothing could be read for 30 seconds, or
   *   immediately if waiting does not help (missing topic or permission, corrupt batch).
   */
  read(range: ReadRange): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /**
   * Reads the records from an offset on, and then each record as it is written, until the signal aborts. Uses no group.
   * Ends if the log was recreated and does not reach that offset.
   *
   * @throws Error as `read` does.
   */
  follow(range: Omit<ReadRange, "to">): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /** The corrupt batch at this offset; null if there is none. Any other failure throws, as in `read`. */
  corruptionAt(place: PartitionOffset & { readonly topic: string }): Promise<CorruptBatch | null>;
  readonly admin: Admin;
  /**
   * Checks the brokers and the log end offsets of all owned partitions every few seconds, until `close`.
   * Consumers' `progress()` uses the results. Without these checks, `progress()` would be as old as the last fetch.
   */
  watch(): ClusterView;
  /** Stops every running consumer, and closes the producers and all connections. */
  close(): Promise<void>;
}

export interface ReadRange {
  readonly topic: string;
  readonly partition: number;
  /** The first offset to read. */
  readonly from: number;
  /** The offset at which reading ends, at most the log end offset. */
  readonly to: number;
  /** Maximum bytes of one step. At least one record is always read. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Bytes that several consumers share. Created once and passed to each of them. */
export interface CommonBytes {
  inFlight: number;
  readonly max: number;
  /**
   * The bytes that each consumer may always use, instead of its `maxBytes`; changes with the number of consumers. Null
   * if `maxBytes` applies.
   */
  each: number | null;
}

export function commonBytes(max: number): CommonBytes {
  return { inFlight: 0, max, each: null };
}

export interface ConsumeOptions {
  readonly groupId: string;
  /** The topics, which stay the same for the consumer's whole life. */
  readonly topics: readonly string[];
  /** Maximum number of unprocessed records of one partition. At least 1. */
  readonly partitionRecordsMax: number;
  /**
   * Maximum bytes of this consumer's unprocessed records. At least one record is always accepted. With
   * `pause`, each partition has an equal share, so that no partition blocks the others.
   */
  readonly maxBytes: number;
  /** Bytes that the consumer may use beyond `maxBytes`, shared with other consumers; by default none. */
  readonly commonBudget?: CommonBytes;
  /**
   * When a partition that had no more room is fetched again. `hold`: when all of its fetched records are passed
   * on. `pause`: when half of its limit is free, too, and each partition has its own share of `maxBytes`. Other
   * partitions are fetched meanwhile.
   */
  readonly whenFull: "hold" | "pause";
  /**
   * The topics whose records may overtake those of the other topics. With `hold`, these topics have a separate
   * quarter of `maxBytes`, and are fetched again when half of it is free.
   */
  readonly passingTopics?: readonly string[];
  /**
   * After a fetch that returned all records of a partition, the time until its next fetch, in milliseconds; by default
   * none. Requests to a broker are about 10 ms apart in any case. For records that are not urgent, a longer time saves CPU.
   */
  readonly fetchSpacingMs?: number;
  /** Longest wait for `drain()`. */
  readonly drainLimitMs: number;
  readonly onAssigned: (partition: AssignedPartition) => PartitionHandler;
  /**
   * Called for each corrupt batch that is skipped. If absent, the consumer crashes at a corrupt batch; it always
   * crashes if the end of the batch is unknown. A skipped batch is read again after a crash, like a record that was not
   * committed. Must not throw.
   */
  readonly onSkipped?: (batch: CorruptBatch) => void;
  /**
   * Called when the consumer has failed permanently (deleted topic: `TopicGoneError`; missing permission:
   * `MissingPermissionError`; corrupt batch) and is closed.
   */
  readonly onCrash: (error: Error) => void;
}

/** A partition while this process owns it. */
export interface AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  /**
   * The topic's ID, which differs from that of a deleted topic with the same name, or of a topic on another
   * cluster. Known from the first `take` on. Empty if the brokers have no topic IDs.
   */
  topicId(): string;
  /** Call when the record at `offset` is processed and the resulting writes are acknowledged. */
  finish(offset: number): void;
  /**
   * Keeps the committed offset at or below `offset`, even when records from `offset` on are processed. The partition's
   * next owner gets these records again. Null ends the hold. Call this before the record at `offset` is processed.
   */
  hold(offset: number | null): void;
  /**
   * Resolves with `true` if no other consumer can own the partition yet. Resolves immediately while the session cannot
   * have expired; after that, queries the coordinator and waits for the response. Call this before each write that
   * could conflict with writes of the partition's next owner.
   */
  isOurs(): Promise<boolean>;
}

export interface PartitionHandler {
  /**
   * Called with each record before it is passed on: `take` gets the returned record. If a promise is returned, the
   * record is not passed on yet: only its partition waits, regardless of `whenFull`, and `admit` is called again when
   * the promise resolves. During the wait, no more records of the partition are in flight: fetched records that are not
   * passed on are kept, and no more are fetched. If absent, all records are passed on unchanged. Must not throw; the
   * promise must not reject.
   */
  readonly admit?: (record: IncomingRecord) => IncomingRecord | Promise<void>;
  /** Takes records, in offset order, and returns immediately. At most 1,000 per call. Must not throw. */
  take(records: readonly IncomingRecord[]): void;
  /**
   * Called when the partition is being revoked. Must start nothing new, and resolve when everything in flight
   * is processed; records that were not started are left. May be called more than once.
   */
  drain(): Promise<void>;
}

export interface Consumer {
  /** Resolves when this consumer has its (perhaps empty) first assignment. */
  readonly joined: Promise<void>;
  /** Drains, commits, and leaves the group. Safe to call more than once. */
  stop(): Promise<void>;
  /** The progress of each owned partition, for metrics and health. A call is cheap. */
  progress(): readonly PartitionProgress[];
  vitals(): ConsumerVitals;
  /** Rebalances since the start, including the first join. */
  rebalances(): number;
  /**
   * How often, since the start, a partition's log did not contain the next record because records were deleted
   * before they were read. Reading continues with the first record that is left.
   */
  offsetResets(): number;
}

/** A record that was not written. */
export interface RejectedRecord {
  readonly record: OutgoingRecord;
  readonly error: string;
  /** Absent if the record is too large. Present only in results of a send with `giveBack`. */
  readonly blocked?: BlockedBy;
}

/**
 * The topic is missing; the permission to write to it is missing; or its partition rejects writes for another
 * reason, such as a missing leader or an error.
 */
export type BlockedBy = "missing" | "forbidden" | "unavailable";

export interface SendOptions {
  /**
   * Returns records whose topic or partition has not been writable for 2 s, instead of waiting. If the
   * brokers' response was lost, a returned record may have been written nevertheless.
   */
  readonly giveBack?: boolean;
}

/** A topic that has not been writable for 2 s or longer, as a whole or in a partition. */
export interface BlockedTopic {
  readonly topic: string;
  readonly sinceMs: number;
  readonly by: BlockedBy;
  /**
   * Kafka's name of the last error, followed by the partition if the partition is missing. If a permission is missing,
   * the name of the permission, and how to grant it.
   */
  readonly error: string;
}

export interface ProducerOptions {
  /** Called repeatedly while a topic that has records to write is missing. Must not throw. */
  readonly onMissing?: (topic: string) => void;
  /** Called when brokers have responded to a write, with the time that the write took. Must not throw. */
  readonly onResponse?: (durationMs: number) => void;
  /**
   * Called for each batch that is retried, with Kafka's name for the error, or `no-answer`. Must not throw.
   */
  readonly onRetried?: (error: string) => void;
  /**
   * Called with the broker's time of each batch of a topic with `message.timestamp.type=LogAppendTime`. The
   * other times in `AppendTime` are from `performance.now()`. Must not throw.
   */
  readonly onAppended?: (time: AppendTime) => void;
}

export interface Producer {
  /**
   * Resolves with the records that are too large, once all other records are acknowledged by all in-sync
   * replicas. Records from one caller to one partition keep their order. During an outage, sending waits and
   * retries; a send that is still unacknowledged at `close()` rejects with `ClosedError`.
   */
  send(
    records: readonly OutgoingRecord[],
    options?: SendOptions,
  ): Promise<readonly RejectedRecord[]>;
  /** Waits at most `limitMs` for the records in flight. */
  close(limitMs: number): Promise<void>;
}

/** A producer as returned by `Kafka`. */
export interface WatchedProducer extends Producer {
  /** The number of partitions of a topic that this producer writes to; 0 if not known yet. */
  partitions(topic: string): number;
  /** Topics that are currently not writable. */
  blocked(): readonly BlockedTopic[];
}

export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/** A consumer's topic, or one of its partitions, was missing when this was thrown. The topic may exist again by now. */
export class TopicGoneError extends Error {
  override readonly name = "TopicGoneError";
}

/** Brokers rejected a request because of a missing permission. The message names the permission and how to grant it. */
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

/** Copies the record's bytes to a separate block, so that a waiting record does not keep its whole fetch in memory. */
export const packRecord: (record: OutgoingRecord) => OutgoingRecord = asBytes;

/** Creates bundles with which very many records can be written to a topic with this producer. */
export function textBundles(topic: string, producer: Pick<WatchedProducer, "partitions">): Bundles {
  return new Bundles(topic, () => producer.partitions(topic));
}

/** The partition that the producer, like Java's, chooses for a key. */
export const partitionOfKey: (key: Uint8Array, partitions: number) => number = murmur2Partition;

/**
 * How to reach the cluster. Callers pass this in, so that the code in this folder does not depend on the configuration.
 *
 * `tls` and `sasl` are read again for each connection and each authentication, so that certificates and
 * passwords can change while the process runs. The mechanism cannot be changed, added or removed.
 */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Null for plaintext. PEM strings; if `ca` is null, the public root certificates are used. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
    /** The name in the brokers' certificates; null if it is the host of each address. */
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
  /** Amazon MSK, with the IAM role of the process. */
  | { readonly mechanism: "aws-msk-iam"; readonly region: string };

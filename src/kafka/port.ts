/**
 * The interface through which the stages use Kafka. `kafka.ts` implements this port. Tests have a second implementation
 * in memory with a manual clock, and one contract suite runs against both.
 *
 * Records are consumed at least once. They are passed on in offset order, and may be processed in any order.
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

import type { AppendTime } from "../base/runtime/broker-clock.ts";
import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { LostRecords } from "../domain/lost-records.ts";
import type { IncomingRecord, OutgoingRecord, PartitionPlace } from "../domain/record.ts";
import type { Admin, PartitionOffset } from "./admin-port.ts";
import type { OffsetToCommit } from "./membership.ts";
import type { ClusterView, ConsumerVitals, PartitionProgress } from "./signals.ts";
import { partitionOfKey as murmur2Partition } from "./wire/murmur2.ts";
import { packRecord as asBytes } from "./wire/pack-record.ts";

export interface Kafka {
  /** Starts to join immediately; `joined` resolves when the consumer has joined. The topics must exist. */
  consume(options: ConsumeOptions): Consumer;
  /** One producer per process is sufficient, because it combines the records of all callers into few requests. */
  producer(options?: ProducerOptions): WatchedProducer;
  /**
   * Reads the stored records of a range of one partition, a step at a time, without a group and without commits.
   * Records that Kafka has removed (retention, compaction) are skipped. If a transaction is open, the records after its
   * start are returned only when it has ended; the wait ends early if the signal aborts.
   *
   * @throws Error with topic, partition and offset if nothing could be read for 30 seconds. Thrown immediately if
   * waiting would not help (missing topic or permission, corrupt batch).
   */
  read(range: ReadRange): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /**
   * Reads the records from an offset on, and then each record as it is written, until the signal aborts. Uses no group.
   * Ends if the log was recreated and does not reach that offset.
   *
   * @throws Error as `read` does.
   */
  follow(range: Omit<ReadRange, "to">): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /**
   * Returns the corrupt batch at this offset; null if there is none. Throws an error for any other failure, as `read`
   * does.
   */
  corruptionAt(place: PartitionOffset & { readonly topic: string }): Promise<CorruptBatch | null>;
  /**
   * Like `admin.commit`, but for a group that has members: joins the group for a moment, which rebalances it twice. The
   * owners of the partitions then continue at these offsets. Rejects if the group rebalances meanwhile.
   */
  commitAsMember(
    groupId: string,
    offsets: readonly OffsetToCommit[],
    signal: AbortSignal,
  ): Promise<void>;
  readonly admin: Admin;
  /**
   * Checks the brokers and the log end offsets of all owned partitions every few seconds, until `close`.
   * The method `progress()` of consumers uses the results. Without these checks, its values would be as old as the last
   * fetch.
   */
  watch(): ClusterView;
  /** Stops every running consumer, and closes the producers and all connections. */
  close(): Promise<void>;
}

export interface ReadRange {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  /** The offset at which reading ends, at most the log end offset. */
  readonly to: number;
  /** Maximum bytes of one step. At least one record is always read. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Called for each corrupt batch that is skipped. If absent, reading fails at a corrupt batch. Must not throw. */
  readonly onSkipped?: (batch: CorruptBatch) => void;
  /** Called for each successful response, even if it contains no records. Must not throw. */
  readonly onResponse?: () => void;
}

/** A number of bytes that several consumers share. The object is created once, and passed to each of them. */
export interface CommonBytes {
  inFlight: number;
  readonly max: number;
  /**
   * The number of bytes that each consumer may always use; it replaces `maxBytes`, and depends on the number of
   * consumers. Null if `maxBytes` applies.
   */
  each: number | null;
}

export function commonBytes(max: number): CommonBytes {
  return { inFlight: 0, max, each: null };
}

export interface ConsumeOptions {
  readonly groupId: string;
  /** The topics. They do not change during the life of the consumer. */
  readonly topics: readonly string[];
  /** Maximum number of unprocessed records of one partition, or a function that returns it now. At least 1. */
  readonly partitionRecordsMax: number | (() => number);
  /**
   * Maximum bytes of this consumer's unprocessed records. At least one record is always accepted. With
   * `pause`, each partition has an equal share, so that no partition blocks the others.
   */
  readonly maxBytes: number;
  /** Bytes that the consumer may use beyond `maxBytes`, shared with other consumers; by default none. */
  readonly commonBudget?: CommonBytes;
  /**
   * When a partition that had no more room is fetched again. `hold`: when all of its fetched records are passed on.
   * `pause`: when, in addition, half of its limit is free; each partition has a separate share of `maxBytes`. Other
   * partitions are fetched meanwhile.
   */
  readonly whenFull: "hold" | "pause";
  /**
   * The topics whose records may overtake those of the other topics. With `hold`, these topics have a separate
   * quarter of `maxBytes`, and are fetched again when half of it is free.
   */
  readonly passingTopics?: readonly string[];
  /**
   * The time from a fetch that returned all records of a partition until the next fetch of the partition, in
   * milliseconds; by default 0. Even then, requests to a broker are about 10 ms apart. For records that are not urgent,
   * a longer time saves CPU.
   */
  readonly fetchSpacingMs?: number;
  /** Maximum time to wait for `drain()`. */
  readonly drainLimitMs: number;
  readonly onAssigned: (partition: AssignedPartition) => PartitionHandler;
  /**
   * Called before each commit with what was processed since the last call. The commit is sent when the promise
   * resolves. Must not throw or reject.
   *
   * @param isLast true if these partitions are fenced now. Nothing waits for the promise then, and what could not be
   *   committed is included. Partitions in which nothing was processed have no ranges.
   */
  readonly beforeCommit?: (processed: readonly Processed[], isLast: boolean) => Promise<void>;
  /**
   * Called for each corrupt batch that is skipped. If absent, a corrupt batch halts its partition; a batch whose end is
   * unknown always does. A skipped batch is read again after a crash, like a record that was not committed. Must not
   * throw.
   */
  readonly onSkipped?: (batch: CorruptBatch) => void;
  /** Called when records were deleted before they were read. Must not throw. */
  readonly onLost?: (lost: LostRecords) => void;
  /**
   * Called each time that a corrupt batch halts its partition, with an error that names the batch, and the time until
   * the batch is read again. Other partitions continue. Must not throw.
   */
  readonly onHalted?: (error: Error, retryInMs: number) => void;
  /**
   * Called when the consumer has failed permanently (deleted topic: `TopicGoneError`; missing permission:
   * `MissingPermissionError`) and is closed.
   */
  readonly onCrash: (error: Error) => void;
}

/** Records of one partition that were processed. */
export interface Processed extends PartitionPlace {
  /** Empty if the brokers have no topic IDs. */
  readonly topicId: string;
  /** Ascending, and not adjacent. They include offsets without a record. */
  readonly ranges: readonly OffsetRange[];
  /** Present only for the first call of a tenure: where reading started. */
  readonly start?: {
    readonly offset: number;
    /** False if another program committed this offset. */
    readonly isOurs: boolean;
  };
}

/** The range ends before the offset `to`. */
export type OffsetRange = readonly [from: number, to: number];

/** A partition that this process owns. */
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
   * next owner gets these records again. Null removes this limit. Call this before the record at `offset` is processed.
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
   * record's partition waits, regardless of `whenFull`, and `admit` is called again when the promise resolves. Other
   * partitions do not wait. During the wait, no further records of the partition are passed on or fetched;
   * those that were fetched are kept. Without this callback, all records are passed on unchanged. Must not throw; the
   * promise must not reject.
   *
   * `ahead` returns the records that were fetched after this one. They can be iterated once.
   */
  readonly admit?: (
    record: IncomingRecord,
    ahead?: () => Iterable<IncomingRecord>,
  ) => IncomingRecord | Promise<void>;
  /**
   * The number of unprocessed records that cannot start before an earlier one of the partition has ended; by default 0.
   * While twice the bytes in flight would have room, they do not count toward `partitionRecordsMax`, so that the records
   * after them are passed on.
   */
  readonly followers?: number;
  /** Takes records, in offset order, and returns immediately. At most 1,000 per call. Must not throw. */
  take(records: readonly IncomingRecord[]): void;
  /**
   * Called when the partition is being revoked. Must start nothing new, and resolve when everything in flight
   * is processed; records that were not started are left. May be called more than once.
   */
  drain(): Promise<void>;
}

export interface Consumer {
  /** Resolves when this consumer has its first assignment, even if the assignment is empty. */
  readonly joined: Promise<void>;
  /** Drains, commits, and leaves the group. Safe to call more than once. */
  stop(): Promise<void>;
  /** Returns the progress of each owned partition, for metrics and health. This is cheap. */
  progress(): readonly PartitionProgress[];
  vitals(): ConsumerVitals;
  /** Returns the number of rebalances since the start, including the first join. */
  rebalances(): number;
  /**
   * Returns how often, since the start, the next record of a partition was missing because records had been deleted
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
 * Why a record could not be written: the topic is missing, the permission to write to it is missing, or its partition
 * rejects writes for another reason, such as a missing leader.
 */
export type BlockedBy = "missing" | "forbidden" | "unavailable";

export interface SendOptions {
  /**
   * If `true`, records whose topic or partition has not been writable for 2 s are returned, instead of waiting. If a
   * response from the brokers was lost, a returned record may still have been written.
   */
  readonly giveBack?: boolean;
}

/** A topic that has not been writable for 2 s or longer, or that has such a partition. */
export interface BlockedTopic {
  readonly topic: string;
  readonly sinceMs: number;
  readonly by: BlockedBy;
  /**
   * Kafka's name for the last error; if a partition does not exist, followed by its number. If a permission is missing,
   * the name of the permission, and how to grant it.
   */
  readonly error: string;
}

export interface ProducerOptions {
  /** Called repeatedly while a topic that has records to write is missing. Must not throw. */
  readonly onMissing?: (topic: string) => void;
  /** Called when brokers have responded to a write, with the time that the write took. Must not throw. */
  readonly onResponse?: (durationMs: number) => void;
  /** Called for each batch that is retried, with Kafka's name for the error, or with `no-answer`. Must not throw. */
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
  /** Returns the topics that are currently not writable. */
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
export type { BrokerState, ClusterView, ConsumerVitals, PartitionProgress } from "./signals.ts";

/**
 * Copies the bytes of the record to separate memory, so that a waiting record does not keep the whole fetch in memory.
 */
export const packRecord: (record: OutgoingRecord) => OutgoingRecord = asBytes;

/** Returns the partition that the producer chooses for a key, which is the same as in the Java client. */
export const partitionOfKey: (key: Uint8Array, partitions: number) => number = murmur2Partition;

/**
 * How to reach the cluster. Callers pass this in, so that the code in this folder does not depend on the configuration.
 *
 * `tls` and `sasl` are read again for each connection and each authentication, so that certificates and passwords can
 * change while the process runs. The SASL mechanism cannot change.
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
  /** For Amazon MSK: the process authenticates with its IAM role. */
  | { readonly mechanism: "aws-msk-iam"; readonly region: string };

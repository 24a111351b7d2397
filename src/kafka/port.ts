/**
 * Kafka as the stages need it, and nothing more. `kafkajs` stands behind it in this folder;
 * tests have a second implementation in memory with a manual clock, and one contract suite runs
 * against both.
 *
 * Consuming is at least once. Records are handed over in offset order and finished in any order.
 * The committed offset never passes an unfinished record; finished ones above it travel in the
 * commit's metadata and are skipped after a restart. A handler may hold the committed offset
 * further back. Records that are finished above it then come again.
 *
 *   the life of a partition here          what the consumer does
 *   assigned                              calls `onAssigned`, then `take` with records
 *   room is used up                       hands over nothing more until records are finished
 *   revoked, or the consumer stops        `drain()`, at most `drainLimitMs`; commits; fences
 *   fenced                                `finish` does nothing: somebody else owns the partition
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
  /** Starts joining at once; `joined` tells when. Topics must exist. */
  consume(options: ConsumeOptions): Consumer;
  /** One producer per process is enough: callers' records are combined into few requests. */
  producer(options?: ProducerOptions): WatchedProducer;
  /**
   * The records of a part of one partition, a step at a time, as they lie there. Belongs to no
   * group and commits nothing. Removed records (retention, compaction) are passed over. Records
   * that an open transaction holds back are waited for, until the signal aborts: then it ends.
   *
   * @throws Error naming topic, partition and offset when nothing could be read for 30 seconds, or
   *   at once when it will stay so (topic gone, right missing, corrupt batch).
   */
  read(range: ReadRange): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /**
   * The records from an offset on, and then each as it is written, until the signal aborts. Belongs
   * to no group. It ends when the log is a new one, which does not reach to where it was.
   *
   * @throws Error as `read` does.
   */
  follow(range: Omit<ReadRange, "to">): AsyncGenerator<readonly IncomingRecord[], void, undefined>;
  /** The corrupt batch that lies at this offset; null when there is none. Throws as `read` else. */
  corruptionAt(place: PartitionOffset & { readonly topic: string }): Promise<CorruptBatch | null>;
  readonly admin: Admin;
  /**
   * Looks at the brokers and at the ends of all owned partitions every few seconds, until `close`.
   * `progress()` of consumers goes by what it finds, and is as old as the last fetch without it.
   */
  watch(): ClusterView;
  /** Stops every consumer that still runs, closes the producers and all connections. */
  close(): Promise<void>;
}

export interface ReadRange {
  readonly topic: string;
  readonly partition: number;
  /** The first offset wanted. */
  readonly from: number;
  /** The first offset not wanted any more, at most the partition's end. */
  readonly to: number;
  /** Of one step. At least one record is always read. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Bytes that several consumers use together. Made once, handed to each of them. */
export interface CommonBytes {
  inFlight: number;
  readonly max: number;
  /**
   * Each of them has so much in any case, in place of its `maxBytes`; changes when they become more
   * or fewer. Null: its `maxBytes`.
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
  /** Most unfinished records of one partition. At least 1. */
  readonly partitionRecordsMax: number;
  /**
   * Most bytes of unfinished records of this consumer. At least one record is always let in. With
   * `pause` each partition has an equal share of them, so that none keeps the others waiting.
   */
  readonly maxBytes: number;
  /** Bytes that it may use beyond `maxBytes`, shared with others; by default nothing. */
  readonly commonBudget?: CommonBytes;
  /**
   * The way to wait for room. `hold`: the fetch loop waits, which stops the consumer's
   * other partitions too, and goes on at once. `pause`: only this partition stops.
   */
  readonly whenFull: "hold" | "pause";
  /**
   * Those of `topics` whose records pass the others': with `hold` they are fetched also while the
   * loop waits, and have a quarter of `maxBytes` of their own; when that is used up, they pause.
   */
  readonly passingTopics?: readonly string[];
  /**
   * Least time, in milliseconds, between fetches of a broker as long as they leave nothing behind;
   * by default 10, which is also the least. More of it costs less CPU, for records in no hurry.
   */
  readonly fetchSpacingMs?: number;
  /** Longest wait for `drain()`. */
  readonly drainLimitMs: number;
  readonly onAssigned: (partition: AssignedPartition) => PartitionHandler;
  /**
   * Called for each corrupt batch that is passed over. Absent: a corrupt batch is a crash. It is one
   * in any case where nobody can tell the batch's end. A batch that was passed comes again after a
   * crash, like a record that was not committed. Must not throw.
   */
  readonly onSkipped?: (batch: CorruptBatch) => void;
  /**
   * The consumer has failed for good (topic deleted: `TopicGoneError`; a permission is missing:
   * `MissingPermissionError`; corrupt batch)
   * and is closed.
   */
  readonly onCrash: (error: Error) => void;
}

/** A partition for the time that this process owns it. */
export interface AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  /**
   * Differs from that of a topic that had the same name and was deleted, or that is on another
   * cluster. Known from the first `take` on. Empty when the brokers know no ids.
   */
  topicId(): string;
  /** The record at `offset` is finished: delivered, parked, dead-lettered or passed on, and acknowledged. */
  finish(offset: number): void;
  /**
   * Keeps the committed offset at or below `offset`, although records from there on are finished.
   * The partition's next owner is handed them again. Null ends that. Call it before the record at
   * `offset` is finished.
   */
  hold(offset: number | null): void;
  /**
   * Whether nobody else can have been given the partition until now. While the session cannot have
   * run out it resolves at once; after that it asks the coordinator, and waits until it answers.
   * For those who write what a successor would contradict: ask before each write.
   */
  isOurs(): Promise<boolean>;
}

export interface PartitionHandler {
  /**
   * Asked for each record before it is handed over: `take` gets what it gives. A promise: the record
   * is not handed over yet. Then its partition waits, and no other, whatever `whenFull` says. The
   * record is asked for again when the promise resolves. Its partition has nothing more in flight
   * because of it: what was fetched and is not handed over is kept, and no more is fetched. Absent:
   * records are handed over as they come. Must not throw; the promise must not reject.
   */
  readonly admit?: (record: IncomingRecord) => IncomingRecord | Promise<void>;
  /** Takes records over, in offset order, and returns at once. At most 1,000 a call. Must not throw. */
  take(records: readonly IncomingRecord[]): void;
  /**
   * The partition is being taken away: start nothing new; resolves when what is in flight has
   * been finished. Records not started are simply left. May be called more than once.
   */
  drain(): Promise<void>;
}

export interface Consumer {
  /** Resolves when the group has given this consumer its (perhaps empty) first assignment. */
  readonly joined: Promise<void>;
  /** Drains, commits, leaves the group. Safe to call more than once. */
  stop(): Promise<void>;
  /** How far each owned partition is. Cheap; for metrics and health. */
  progress(): readonly PartitionProgress[];
  vitals(): ConsumerVitals;
  /** Rebalances since the start, the first join included. */
  rebalances(): number;
  /**
   * Times since the start that a partition's log did not hold the record to go on with: records
   * were deleted before they were read. Reading goes on with the first one that is left.
   */
  offsetResets(): number;
}

/** A record that was not written. */
export interface RejectedRecord {
  readonly record: OutgoingRecord;
  readonly error: string;
  /** Absent: its size is the reason. Present only in answers to a send with `giveBack`. */
  readonly blocked?: BlockedBy;
}

/**
 * The brokers know no such topic; the right to write it is missing; its partition takes nothing for
 * another reason: no leader, an error.
 */
export type BlockedBy = "missing" | "forbidden" | "unavailable";

export interface SendOptions {
  /**
   * Gives records back whose topic, or partition, takes nothing for 2 s, instead of waiting for it.
   * One of which the brokers' answer was lost may be written all the same.
   */
  readonly giveBack?: boolean;
}

/** A topic that takes nothing, for 2 s or longer, in the whole or in a partition. */
export interface BlockedTopic {
  readonly topic: string;
  readonly sinceMs: number;
  readonly by: BlockedBy;
  /**
   * Kafka's name of the last error; behind it the partition, where that is not there. In place of it
   * the permission that is missing, and how to grant it.
   */
  readonly error: string;
}

export interface ProducerOptions {
  /** Called now and then, as long as a topic that is written is missing. Must not throw. */
  readonly onMissing?: (topic: string) => void;
  /** Called when brokers have answered a request to write, after so long. Must not throw. */
  readonly onResponse?: (durationMs: number) => void;
  /**
   * Called for each batch that is tried again, with Kafka's name of the error, or `no-answer`. Must
   * not throw.
   */
  readonly onRetried?: (error: string) => void;
  /**
   * Called with the broker's time of each batch of a topic with `message.timestamp.type=LogAppendTime`.
   * The other times are of `performance.now()`. Must not throw.
   */
  readonly onAppended?: (time: AppendTime) => void;
}

export interface Producer {
  /**
   * Resolves when every record is acknowledged by all in-sync replicas, with those that are too
   * large to be taken. Records of one caller to one partition keep their order. Through an outage
   * it waits and tries again; what is still unacknowledged at `close()` rejects with `ClosedError`.
   */
  send(
    records: readonly OutgoingRecord[],
    options?: SendOptions,
  ): Promise<readonly RejectedRecord[]>;
  /** Waits at most `limitMs` for what is in flight. */
  close(limitMs: number): Promise<void>;
}

/** A producer as `Kafka` gives it. */
export interface WatchedProducer extends Producer {
  /** Of a topic that it writes; 0: it does not know them yet. */
  partitions(topic: string): number;
  /** Topics that take nothing now. */
  blocked(): readonly BlockedTopic[];
}

export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/** A consumer's topic, or a partition of it, was gone. By now it may be there again. */
export class TopicGoneError extends Error {
  override readonly name = "TopicGoneError";
}

/** Brokers refused a request: its sentence names the permission that is missing, and how to grant it. */
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

/** As bytes in a block of their own: a record that waits keeps no fetch alive. Pure. */
export const packRecord: (record: OutgoingRecord) => OutgoingRecord = asBytes;

/** For those who write very many records of a topic, with this producer. */
export function textBundles(topic: string, producer: Pick<WatchedProducer, "partitions">): Bundles {
  return new Bundles(topic, () => producer.partitions(topic));
}

/** The partition that the producer places a key in, as Java's does. Pure. */
export const partitionOfKey: (key: Uint8Array, partitions: number) => number = murmur2Partition;

/**
 * How to reach the cluster. Handed in by `cli`, so that this folder does not know the configuration.
 *
 * `tls` and `sasl` are read again for each connection and each authentication, so that certificates and
 * passwords can change meanwhile. The mechanism stays, and so does whether there are any.
 */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Null: plaintext. PEM texts; `ca` null: the public roots. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
    /** The name in the brokers' certificates; null: the host of each address. */
    readonly serverName: string | null;
  } | null;
  readonly sasl: KafkaSasl | null;
  readonly sessionTimeoutMs: number;
  /** Largest record (key, value and headers) that a topic takes; longest match first is the caller's. */
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
  /** Amazon MSK, by the role that the process has. */
  | { readonly mechanism: "aws-msk-iam"; readonly region: string };

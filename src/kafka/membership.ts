/**
 * A member of a consumer group, as `consume/` needs it, in our words. `kafkajs/membership.ts`
 * implements it, `kafka.ts` hands it to `consume/`.
 *
 *   the driver                               calls
 *   is about to join, the first time too     `beforeJoin`, and waits for it
 *   failed to join                           `joinsAgain`, which says whether to try once more
 *   has read the group's commits             `offsetsFetched`, before the first fetch
 *   has its assignment                       `assigned`, and before it `foreignMembers`
 *   wants to ask a broker for records        `fetch`, once for each broker at the same time
 *   wants to send a heartbeat                `heartbeat`
 *   gives up                                 `failed`
 */

import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { IncomingRecord } from "../domain/record.ts";

/** Makes a member that has not joined yet. */
export type CreateMembership = (options: MembershipOptions, events: GroupEvents) => Membership;

export interface MembershipOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  /** How long the group waits for a member that is slow to join again. */
  readonly rebalanceTimeoutMs: number;
  /** Least time between heartbeats of the driver's own. */
  readonly idleHeartbeatMs: number;
  /** Longest wait of a broker for records. */
  readonly pollMs: number;
  /** Of one answer. */
  readonly fetchMaxBytes: number;
  /** A compressed record of the topic that is larger comes in part (`wire/inflation.ts`). */
  readonly recordMaxBytes: (topic: string) => number;
  /** A corrupt batch whose end is known comes as `corrupt`. Otherwise each one is a failure. */
  readonly skipsCorrupt: boolean;
}

export interface GroupEvents {
  /**
   * Comes before each join, when it is decided. Fetches of other brokers may still be in flight.
   * Called once for joins that are asked for at the same time. A rejection is a failed join.
   */
  readonly beforeJoin: (member: Member) => Promise<void>;
  readonly joinsAgain: (error: unknown) => Promise<boolean>;
  /**
   * All assigned partitions, after each join; and a single one whose offset was out of range.
   * Returns those that are read from their beginning, whatever was committed. Must not throw.
   */
  readonly offsetsFetched: (fetched: readonly FetchedOffset[]) => readonly FetchedOffset[];
  readonly assigned: (assignment: Assignment) => void;
  /** Client IDs of other programs in the group, as far as this member sees them. */
  readonly foreignMembers: (clientIds: readonly string[]) => void;
  /** The driver goes on when it resolves. When it rejects, the driver does what the error asks for. */
  readonly fetch: (member: Member, nodeId: string, ask: FetchFromBroker) => Promise<void>;
  /** Stands around each heartbeat, those of the driver too. */
  readonly heartbeat: (member: Member, send: () => Promise<void>) => Promise<void>;
  readonly failed: (error: Error) => void;
}

/**
 * Asks the broker for records: of all partitions that it leads, or only of some.
 *
 * @param take takes what comes, as long as it likes; then the fetch goes on until its time is over.
 *   A driver may do without it.
 */
export type FetchFromBroker = (
  only: FetchOnly | null,
  take?: TakeBatches,
) => Promise<readonly FetchedBatch[]>;

/** Returns whether the fetch goes on behind these batches. Not if one of them was not taken. */
export type TakeBatches = (batches: readonly FetchedBatch[]) => boolean;

export type IsWanted = (topic: string, partition: number) => boolean;

export interface FetchOnly {
  readonly isWanted: IsWanted;
  /** Longest wait of the broker for a record. */
  readonly maxWaitMs: number;
}

export interface Membership {
  connect(): Promise<void>;
  /** Rejects when a topic is not known. */
  subscribe(): Promise<void>;
  /** Joins and begins to fetch. */
  run(): Promise<void>;
  /** Fetches in flight end with nothing, so that new ones begin. */
  endFetches(): void;
  /** The last answer to a fetch that goes on, in epoch milliseconds; null: none goes on. */
  fetchRespondedAtMs(): number | null;
  /** Leaves the group. From the call on it does not join again. */
  stop(): Promise<void>;
  /** Ends the connections, politely. */
  disconnect(): Promise<void>;
  /** Drops all connections at once. */
  destroy(): void;
}

/** By topic: the leaders of its partitions, from 0 on. A topic without all of them is left out. */
export type TopicLeaders = ReadonlyMap<string, readonly number[]>;

/** Looks up the leaders of topics for all members of a process. */
export interface TopicWatch {
  add(watching: WatchingTopics): void;
  delete(watching: WatchingTopics): void;
}

export interface WatchingTopics {
  readonly topics: readonly string[];
  /** Called with each look. */
  readonly found: (leaders: TopicLeaders) => void;
}

/** Partitions by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** This process in the group. */
export interface Member {
  /** Longest wait of a broker for records. Read again for each fetch. */
  pollMs: number;
  /** Of one partition, in one answer. Read again for each fetch. */
  partitionMaxBytes: number;
  /** When the last heartbeat was answered, in epoch milliseconds. */
  heardAtMs: number;
  /** Sends one when the last one was so long ago. Rejects when the group is rebalancing. */
  heartbeat(agoMs: number): Promise<void>;
  /** Whether the broker leads any of them. False while that cannot be told. */
  readsFrom(nodeId: string, isWanted: IsWanted): boolean;
  /** Where the next fetch of the partition begins. */
  positionOf(topic: string, partition: number): number;
  /** The next fetch of the partition begins after `offset`. */
  advance(topic: string, partition: number, offset: number): void;
  /** One attempt, as the member of the latest join. */
  commit(offsets: readonly OffsetToCommit[]): Promise<void>;
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  /** Also what was paused before the latest join: the driver may keep it so. */
  resumeAll(): void;
}

export interface OffsetToCommit {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

export interface FetchedOffset {
  readonly topic: string;
  /** Tells a topic from an earlier one of the same name; null when the broker knows no ids. */
  readonly topicId: string | null;
  readonly partition: number;
  /** The committed offset, or -1 when there is none (-2 after an offset out of range). */
  readonly offset: number;
  /** As committed; empty when there is none. */
  readonly metadata: string;
}

/** A record, and what it holds in memory. */
export interface FetchedRecord extends IncomingRecord {
  readonly bytes: number;
}

/** One partition of the answer to a fetch. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  /** The offset that was asked for. */
  readonly from: number;
  /** The partition's end. */
  readonly end: number;
  /**
   * The last offset of the answer, with control records, aborted transactions and records before
   * `from`; of a corrupt batch its last one. Null when it holds nothing at all.
   */
  readonly last: number | null;
  /** There are no records: they lie in a batch that is corrupt. */
  readonly corrupt: CorruptBatch | null;
  /** How many records there are without those. */
  readonly count: number;
  recordAt(index: number): FetchedRecord;
}

/**
 * The interface through which `consume/` uses a member of a consumer group. `kafkajs/membership.ts` implements the
 * interface, and `kafka.ts` passes the implementation to `consume/`.
 *
 *   the driver                               calls
 *   is about to join, even the first time    `beforeJoin`, and waits for it
 *   failed to join                           `joinsAgain`, which decides whether it makes another attempt
 *   has read the group's commits             `offsetsFetched`, before the first fetch
 *   has its assignment                       `foreignMembers`, then `assigned`
 *   is about to fetch from a broker          `fetch`, concurrently for all brokers
 *   is about to send a heartbeat             `heartbeat`
 *   cannot continue                          `failed`
 */

import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { IncomingRecord } from "../domain/record.ts";

/** Creates a member that has not joined yet. */
export type CreateMembership = (options: MembershipOptions, events: GroupEvents) => Membership;

export interface MembershipOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  /** How long the group waits for a member that is slow to rejoin. */
  readonly rebalanceTimeoutMs: number;
  /** Minimum time between the driver's own heartbeats. */
  readonly idleHeartbeatMs: number;
  /** How long a broker may wait for records. */
  readonly pollMs: number;
  /** Maximum size of one response. */
  readonly fetchMaxBytes: number;
  /** A larger compressed record of the topic is returned in part (`wire/inflation.ts`). */
  readonly recordMaxBytes: (topic: string) => number;
  /** A corrupt batch whose end is known is returned as `corrupt`. Any other corrupt batch is a failure. */
  readonly skipsCorrupt: boolean;
}

export interface GroupEvents {
  /**
   * Called before each join, after the driver has decided to join. Fetches from other brokers may still be in
   * flight. Called once for concurrent joins. If the promise rejects, the join has failed.
   */
  readonly beforeJoin: (member: Member) => Promise<void>;
  readonly joinsAgain: (error: unknown) => Promise<boolean>;
  /**
   * Called with all assigned partitions after each join, or with a single partition whose offset was out of
   * range. Returns the partitions to read from their first offset regardless of what was committed. Must not throw.
   */
  readonly offsetsFetched: (fetched: readonly FetchedOffset[]) => readonly FetchedOffset[];
  readonly assigned: (assignment: Assignment) => void;
  /** Called with the client IDs of other programs in the group that are visible to this member. */
  readonly foreignMembers: (clientIds: readonly string[]) => void;
  /** The driver continues when the promise resolves. If the promise rejects, the driver handles the error. */
  readonly fetch: (member: Member, nodeId: string, ask: FetchFromBroker) => Promise<void>;
  /** Wraps each heartbeat, including the driver's own. */
  readonly heartbeat: (member: Member, send: () => Promise<void>) => Promise<void>;
  readonly failed: (error: Error) => void;
}

/**
 * Fetches from the broker, either all partitions that it leads or only some of them.
 *
 * @param take is called with the batches that arrive. The fetch continues until its time is over, or until `take`
 * returns `false`. A driver may ignore `take`.
 */
export type FetchFromBroker = (
  only: FetchOnly | null,
  take?: TakeBatches,
) => Promise<readonly FetchedBatch[]>;

/** Returns `true` if the fetch continues after these batches, `false` if one of them was not taken. */
export type TakeBatches = (batches: readonly FetchedBatch[]) => boolean;

export type IsWanted = (topic: string, partition: number) => boolean;

export interface FetchOnly {
  readonly isWanted: IsWanted;
  /** How long the broker may wait for a record. */
  readonly maxWaitMs: number;
}

export interface Membership {
  connect(): Promise<void>;
  /** Rejects if a topic is unknown. */
  subscribe(): Promise<void>;
  /** Joins and starts to fetch. */
  run(): Promise<void>;
  /** Ends the fetches in flight without records, so that new ones start. */
  endFetches(): void;
  /** Time of the last response to a fetch that is still in flight, in epoch milliseconds; null if there is none. */
  fetchRespondedAtMs(): number | null;
  /** Leaves the group. The member then does not join again. */
  stop(): Promise<void>;
  /** Closes the connections gracefully. */
  disconnect(): Promise<void>;
  /** Closes all connections immediately. */
  destroy(): void;
}

/** For each topic, the leaders of its partitions, from 0 on. Topics with a leaderless partition are omitted. */
export type TopicLeaders = ReadonlyMap<string, readonly number[]>;

/** Looks up the leaders of topics for all members of a process. */
export interface TopicWatch {
  add(watching: WatchingTopics): void;
  delete(watching: WatchingTopics): void;
}

export interface WatchingTopics {
  readonly topics: readonly string[];
  /** Called with the result of each lookup. */
  readonly found: (leaders: TopicLeaders) => void;
}

/** Partitions by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** This process as a member of the group. */
export interface Member {
  /** How long a broker may wait for records. Read again for each fetch. */
  pollMs: number;
  /** Limit for one partition in one response. Read again for each fetch. */
  partitionMaxBytes: number;
  /** When the last heartbeat got a response, in epoch milliseconds. */
  heardAtMs: number;
  /** Sends a heartbeat if the last one is at least this old. Rejects if the group is rebalancing. */
  heartbeat(agoMs: number): Promise<void>;
  /** `true` if the broker leads any of the wanted partitions; `false` if it does not, or if that is unknown. */
  readsFrom(nodeId: string, isWanted: IsWanted): boolean;
  /** The offset at which the next fetch of the partition starts. */
  positionOf(topic: string, partition: number): number;
  /** Makes the next fetch of the partition start after `offset`. */
  advance(topic: string, partition: number, offset: number): void;
  /** Makes one attempt to commit, as the member of the latest join. */
  commit(offsets: readonly OffsetToCommit[]): Promise<void>;
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  /**
   * Resumes all partitions, including those that were paused before the latest join, because the driver may keep
   * pauses.
   */
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
  /** Distinguishes the topic from an earlier one with the same name; null if the broker has no IDs. */
  readonly topicId: string | null;
  readonly partition: number;
  /** The committed offset, or -1 if there is none (-2 after the offset was out of range). */
  readonly offset: number;
  /** The committed metadata; empty if there is none. */
  readonly metadata: string;
}

/** A fetched record and the memory that it uses. */
export interface FetchedRecord extends IncomingRecord {
  readonly bytes: number;
}

/** One partition of the response to a fetch. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  /** The requested offset. */
  readonly from: number;
  /** The log end offset. */
  readonly end: number;
  /**
   * The last offset in the response, including control records, aborted transactions and records before
   * `from`; for a corrupt batch, the batch's last offset. Null if the response is empty.
   */
  readonly last: number | null;
  /** Set if there are no records because their batch is corrupt. */
  readonly corrupt: CorruptBatch | null;
  /**
   * The number of records to process. `last` also covers control records, aborted records, and records before the
   * offset that was requested.
   */
  readonly count: number;
  recordAt(index: number): FetchedRecord;
}

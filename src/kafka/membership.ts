/**
 * A member of a consumer group, as `consume/` needs it. `group/member.ts` implements it, and `kafka.ts` passes
 * it to `consume/`.
 *
 *   the member                               calls
 *   is about to join, even the first time    `beforeJoin`, and waits for it
 *   failed to join                           `joinsAgain`, which decides whether to try again
 *   has its assignment                       `unreadTopics` and `foreignMembers`, then `assigned`
 *   has read the group's commits             `offsetsFetched`, before the first fetch
 *   has records of a partition               `fetched`; the partition is fetched again when that is done
 *   is about to send a heartbeat             `heartbeat`
 *   has reached a corrupt batch              `halted`, at each attempt to read it; other partitions continue
 *   cannot continue                          `failed`
 */

import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { IncomingRecord, PartitionPlace, RecordPlace } from "../domain/record.ts";

/** Creates a member that has not joined yet. */
export type CreateMembership = (options: MembershipOptions, events: GroupEvents) => Membership;

export interface MembershipOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  /** How long the group waits for a member that is slow to rejoin. */
  readonly rebalanceTimeoutMs: number;
  /** Returns the limit for each partition in a response, for this many partitions. */
  readonly partitionMaxBytes: (partitions: number) => number;
  /**
   * Minimum time between two fetches of a partition if the first one returned all records; 0 if there is no minimum.
   */
  readonly fetchSpacingMs: number;
  /** Returns a limit for the topic. A larger compressed record is returned only in part (`wire/inflation.ts`). */
  readonly recordMaxBytes: (topic: string) => number;
  /** A corrupt batch whose end is known is returned as `corrupt`. Any other corrupt batch halts its partition. */
  readonly skipsCorrupt: boolean;
}

export interface GroupEvents {
  /** Called before each join. Until the promise resolves, nothing is fetched. If it rejects, the join has failed. */
  readonly beforeJoin: (member: Member) => Promise<void>;
  readonly joinsAgain: (error: unknown) => Promise<boolean>;
  readonly assigned: (assignment: Assignment) => void;
  /**
   * Called with all assigned partitions after each join, or with a single partition whose offset was out of
   * range. Returns the partitions that are to be read from their first offset, regardless of what was committed. Must
   * not throw.
   */
  readonly offsetsFetched: (fetched: readonly FetchedOffset[]) => readonly FetchedOffset[];
  /** Called with the client IDs of other programs in the group, if they are visible to this member. */
  readonly foreignMembers: (clientIds: readonly string[]) => void;
  /** Called at each join with the topics that no member can get, because this member leads and cannot see them. */
  readonly unreadTopics: (topics: readonly string[]) => void;
  /**
   * Called with the result of fetching a partition, which may be only the log end offset. If a promise is returned, the
   * partition is not fetched again until the promise resolves. Must not throw; the promise must not reject.
   */
  readonly fetched: (batch: FetchedBatch) => Promise<void> | undefined;
  /** @param error names the corrupt batch. @param retryInMs the time until the batch is read again. */
  readonly halted: (place: PartitionPlace, error: Error, retryInMs: number) => void;
  /** Wraps each heartbeat. */
  readonly heartbeat: (member: Member, send: () => Promise<void>) => Promise<void>;
  /** Called when the member has stopped reading its partitions and will not join again. */
  readonly failed: (error: Error) => void;
}

export interface Membership {
  /** Joins and starts to fetch. Resolves when the member has joined, or has failed permanently. */
  run(): Promise<void>;
  /**
   * The time of the last response to a request for one of the partitions that are being fetched, in milliseconds since
   * the epoch; null if there is none.
   */
  fetchRespondedAtMs(): number | null;
  /** Stops fetching, and leaves the group. The member then does not join again. */
  stop(): Promise<void>;
}

/** Partitions by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** This process as a member of the group. */
export interface Member {
  /** When the last heartbeat got a response, in milliseconds since the epoch. */
  heardAtMs: number;
  /** Sends a heartbeat if the last one was at least this long ago. Rejects if the group is rebalancing. */
  heartbeat(agoMs: number): Promise<void>;
  /** The offset at which the next fetch of the partition starts; null if it is not known. */
  positionOf(topic: string, partition: number): number | null;
  /** Makes the next fetch of the partition start after `offset`. */
  advance(topic: string, partition: number, offset: number): void;
  /** Makes one attempt to commit, with the member ID from the latest join. */
  commit(offsets: readonly OffsetToCommit[]): Promise<void>;
  /** Stops fetching the partition until it is resumed. */
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
}

export interface OffsetToCommit extends RecordPlace {
  readonly metadata: string;
}

/** The fetched offset of a partition whose committed offset is not in the log any more. */
export const OUT_OF_RANGE = -2;

/** The committed offset, or -1 if there is none (-2 after the offset was out of range), and its metadata. */
export interface FetchedOffset extends OffsetToCommit {
  /** Distinguishes the topic from an earlier topic with the same name; null if the broker has no topic IDs. */
  readonly topicId: string | null;
}

export interface FetchedRecord extends IncomingRecord {
  readonly bytes: number;
}

/** One partition of the response to a fetch. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  /** The log end offset. */
  readonly end: number;
  /**
   * The last offset in the response, including control records, aborted transactions and records before
   * `from`; for a corrupt batch, the batch's last offset. Null if the response is empty.
   */
  readonly last: number | null;
  /** The batch, if there are no records because it is corrupt; otherwise null. */
  readonly corrupt: CorruptBatch | null;
  /** The number of records to process. */
  readonly count: number;
  recordAt(index: number): FetchedRecord;
}

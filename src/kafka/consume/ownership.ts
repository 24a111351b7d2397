/**
 * The partitions of a consumer, from their assignment until they are revoked. Partitions are revoked in three steps:
 * drain (with a time limit), commit, fence.
 */

import assert from "node:assert/strict";

import { atMost, type Signal } from "../../base/runtime/signal.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { LostRecords } from "../../domain/lost-records.ts";
import { partitionKey } from "../../domain/record.ts";
import type { LogEnds } from "../cluster/log-ends.ts";
import {
  type Assignment,
  type FetchedBatch,
  type FetchedOffset,
  type Member,
  OUT_OF_RANGE,
} from "../membership.ts";
import type { ConsumeOptions } from "../port.ts";
import { BackPressure } from "./back-pressure.ts";
import { ByteBudget } from "./byte-budget.ts";
import type { CommitPace } from "./commit-pace.ts";
import { Committer, isNoMember } from "./committer.ts";
import { COMMIT_LIMIT_MS, type ConsumerTimes } from "./consumer-times.ts";
import { topicIdIn } from "./finished-ranges.ts";
import { OwnedPartition, type PartitionOwner, type Remembered } from "./owned-partition.ts";
import type { SessionLease } from "./session-lease.ts";

/** The committed offset of a partition without a commit. */
const NOT_COMMITTED = -1;

const ASK_AGAIN_MS = 250;
/** `maxBytes` divided by this number is the share of the passing topics. */
const PASSING_SHARE = 4;

/** State that is kept across the tenures and runs of a consumer. */
export interface Memory {
  /** By topic and partition: records that were processed before this tenure but not committed. */
  readonly finished: Map<string, Remembered>;
  /** The last known ID of each topic. */
  readonly topicIds: Map<string, string>;
  /** By topic and partition: errors that name the corrupt batches at which owned partitions are halted. */
  readonly halts: Map<string, Error>;
  readonly pulse: Pulse;
}

/** When the member was last active, as `ConsumerVitals` reports it. */
export interface Pulse {
  fetchedAtMs: number | null;
  heardAtMs: number | null;
  commitFailures: number;
}

export function newMemory(): Memory {
  const pulse = { fetchedAtMs: null, heardAtMs: null, commitFailures: 0 };
  return { finished: new Map(), topicIds: new Map(), halts: new Map(), pulse };
}

interface OwnershipOptions {
  readonly consume: ConsumeOptions;
  readonly times: ConsumerTimes;
  readonly memory: Memory;
  readonly lease: SessionLease;
  /** The pace that all consumers of the process share. */
  readonly commits: CommitPace;
  readonly ends: Pick<LogEnds, "leave" | "lost">;
  /** Fired when the run ends. */
  readonly wake: Signal;
  /** Called when records were deleted before they were read. */
  readonly onOffsetReset: () => void;
  readonly log: Log;
}

export class Ownership implements PartitionOwner {
  readonly #options: OwnershipOptions;
  readonly #committer: Committer;
  readonly #backPressure: BackPressure;
  readonly admits = () => this.#backPressure.admits();
  /** The member of the latest assignment. */
  #member: Member | null = null;
  /** Set by `assign`, empty from `fence` on. In between, only `#restart` replaces a partition. */
  #owned: readonly OwnedPartition[] = [];

  constructor(options: OwnershipOptions) {
    const { consume, memory, log, commits } = options;
    this.#options = options;
    this.#committer = new Committer(consume, log, commits, () => {
      memory.pulse.commitFailures += 1;
    });
    this.#backPressure = new BackPressure(consume.whenFull);
  }

  /** Call after the partitions of the previous assignment were fenced. */
  assign(member: Member, assignment: Assignment): void {
    assert.equal(this.#owned.length, 0);
    this.#member = member;
    const { maxBytes, commonBudget = null, whenFull } = this.#options.consume;
    const all = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    // A partition that this member has again is still halted until it reads past the batch.
    const { halts } = this.#options.memory;
    const assigned = new Set(all.map(partitionKey));
    for (const key of halts.keys()) if (!assigned.has(key)) halts.delete(key);
    const shared = new ByteBudget(maxBytes, commonBudget);
    const passing = new ByteBudget(maxBytes, commonBudget, 1 / PASSING_SHARE);
    this.#own(
      all.map(({ topic, partition }) => {
        if (this.passes(topic)) return this.#create(topic, partition, passing);
        // Records that wait for an hour in one partition must not block the records of other partitions.
        const share = new ByteBudget(maxBytes, commonBudget, 1 / all.length);
        return this.#create(topic, partition, whenFull === "pause" ? share : shared);
      }),
    );
  }

  /**
   * Applies the group's commits, which arrive before the first batches. Returns the offsets in topics that were
   * recreated. These commits belong to another log, according to their metadata or to the topic IDs that this process
   * has stored.
   */
  offsetsFetched(all: readonly FetchedOffset[]): readonly FetchedOffset[] {
    const group = this.#options.consume.groupId;
    const restarted = all.filter((each) => this.#isOfEarlierTopic(each));
    for (const { topic, topicId } of all) {
      if (topicId !== null) this.#options.memory.topicIds.set(topic, topicId);
    }
    const fetched = all.map((each) =>
      restarted.includes(each) ? { ...each, offset: NOT_COMMITTED, metadata: "" } : each,
    );
    this.#reportLost(all, restarted);
    for (const each of fetched) {
      const { topic, partition, offset } = each;
      const owned = this.#find(topic, partition);
      if (offset === OUT_OF_RANGE && owned?.fetched != null && isNews(owned, owned.fetched)) {
        const committed = owned.fetched.offset;
        this.#options.log.warn({ group, topic, partition, committed }, "kafka.offset.out-of-range");
        this.#lost({ topic, records: 0 });
      }
      owned?.committedAt(each);
    }
    return restarted;
  }

  /** If this process has not read the earlier topic, only its commits show that records may be lost. */
  #reportLost(all: readonly FetchedOffset[], restarted: readonly FetchedOffset[]): void {
    const { ends, consume } = this.#options;
    for (const [topic, topicId] of new Map(all.map((each) => [each.topic, each.topicId]))) {
      if (topicId === null) continue;
      const records = ends.lost(consume.groupId, topic, topicId);
      const isRestarted = records === null && restarted.some((each) => each.topic === topic);
      if (isRestarted || (records ?? 0) > 0) this.#lost({ topic, records: records ?? 0 });
    }
  }

  #lost(lost: LostRecords): void {
    this.#options.onOffsetReset();
    this.#options.consume.onLost?.(lost);
  }

  #isOfEarlierTopic({ topic, topicId, partition, offset, metadata }: FetchedOffset): boolean {
    if (topicId === null || offset < 0) return false;
    const known = topicIdIn(metadata, offset) ?? this.#options.memory.topicIds.get(topic);
    if (known === undefined || known === topicId) return false;
    const group = this.#options.consume.groupId;
    const fields = { group, topic, partition, committed: offset };
    this.#options.log.warn(fields, "kafka.topic.recreated");
    return true;
  }

  passes(topic: string): boolean {
    return this.#options.consume.passingTopics?.includes(topic) ?? false;
  }

  /**
   * Adds fetched batches, and passes on the records that there is room for. A batch counts only if it starts
   * at the partition's current position: a response from before a reset, or of a former leader, is late.
   */
  offer(member: Member, batches: readonly FetchedBatch[]): void {
    for (const batch of batches) {
      const { topic, partition, last, corrupt } = batch;
      const owned = this.#find(topic, partition);
      if (owned === undefined || batch.from !== member.positionOf(topic, partition)) continue;
      if (corrupt !== null && owned.isNewCorruption(corrupt)) continue;
      const { halts } = this.#options.memory;
      if (halts.size > 0 && last !== null) halts.delete(partitionKey(owned));
      const remembered = this.#options.memory.finished.get(partitionKey(owned)) ?? null;
      if (!owned.offer(batch, remembered)) this.#restart(owned).offer(batch, null);
      if (last !== null) member.advance(topic, partition, last);
      if (corrupt === null) continue;
      owned.wasNotRead(corrupt.offset, corrupt.behind);
      this.#options.consume.onSkipped?.(corrupt);
      this.#committer.progressed();
    }
    this.#backPressure.handOver();
  }

  /**
   * Drains, commits, and fences.
   *
   * @param outageLimitMs time limit of the commit while the coordinator is unreachable.
   * @returns the error if processed records could not be committed; null if everything is committed.
   */
  async revoke(outageLimitMs = COMMIT_LIMIT_MS): Promise<Error | null> {
    if (this.#owned.length === 0) return null;
    // The coordinator keeps a member that is slow to join only as long as the member sends heartbeats.
    const heartbeat = setInterval(() => {
      this.#member?.heartbeat(0).catch(() => undefined);
    }, this.#options.times.heartbeatMs);
    try {
      await this.drain();
      return await this.#committer.commitLast(COMMIT_LIMIT_MS, outageLimitMs);
    } finally {
      clearInterval(heartbeat);
      this.fence();
    }
  }

  /** Stops passing on records, and waits until handlers have finished the records that they have started. */
  async drain(): Promise<void> {
    this.#backPressure.stop();
    for (const owned of this.#owned) owned.dropBacklog();
    const drains = this.#owned.map(({ handler }) => handler.drain());
    await atMost(this.#options.consume.drainLimitMs, Promise.allSettled(drains));
  }

  /** Call when these partitions may belong to other members. */
  fence(): void {
    this.#backPressure.stop();
    this.#committer.stop();
    for (const owned of this.#owned) {
      const uncommitted = owned.toCommit();
      if (uncommitted !== null) {
        this.#options.memory.finished.set(partitionKey(owned), {
          ...uncommitted,
          topicId: owned.topicId(),
        });
      } else if (owned.hasStarted) {
        this.#options.memory.finished.delete(partitionKey(owned));
      }
      const { groupId } = this.#options.consume;
      if (owned.topicId() !== "")
        this.#options.ends.leave(groupId, owned.topicId(), owned.progress());
      owned.fence();
    }
    this.#owned = [];
  }

  /** The partitions that are assigned to this member. */
  get owned(): readonly OwnedPartition[] {
    return this.#owned;
  }

  #own(owned: readonly OwnedPartition[]): void {
    this.#owned = owned;
    if (this.#member === null) return;
    this.#committer.own(this.#member, owned);
    this.#backPressure.own(this.#member, owned);
  }

  #create(topic: string, partition: number, budget: ByteBudget): OwnedPartition {
    const { onAssigned, partitionRecordsMax } = this.#options.consume;
    return new OwnedPartition({
      topic,
      partition,
      recordsMax: partitionRecordsMax,
      budget,
      passes: this.passes(topic),
      owner: this,
      onAssigned,
    });
  }

  finished(): void {
    this.#committer.progressed();
    this.#backPressure.finished();
  }

  held(): void {
    this.#committer.progressed();
  }

  /** Queries the coordinator if the session may have expired. */
  async isOurs(owned: OwnedPartition): Promise<boolean> {
    const { lease, wake } = this.#options;
    for (let isLost = false; !isLost && !owned.isFenced; ) {
      if (lease.isCertain()) return true;
      await this.#member?.heartbeat(0).catch((error: unknown) => {
        isLost = isNoMember(error);
      });
      if (!isLost && !lease.isCertain()) await wake.wait(ASK_AGAIN_MS);
    }
    return false;
  }

  /**
   * Starts the partition again, because its log was truncated: offsets that were already read now belong to
   * other records.
   */
  #restart(owned: OwnedPartition): OwnedPartition {
    const { topic, partition, handler, fetched } = owned;
    const group = this.#options.consume.groupId;
    this.#options.log.warn({ group, topic, partition }, "kafka.partition.truncated");
    owned.fence();
    handler.drain().catch(() => undefined);
    const fresh = this.#create(topic, partition, owned.budget);
    if (fetched !== null) fresh.committedAt(fetched);
    this.#own(this.#owned.map((other) => (other === owned ? fresh : other)));
    return fresh;
  }

  #find(topic: string, partition: number): OwnedPartition | undefined {
    return this.#owned.find((owned) => owned.topic === topic && owned.partition === partition);
  }
}

/** `true` if a reset is new. If nothing was read since the last one, the same reset is reported again. */
function isNews(owned: OwnedPartition, before: FetchedOffset): boolean {
  return before.offset !== OUT_OF_RANGE || owned.hasReadSince;
}

/**
 * The partitions that a consumer has been given, from the assignment until they are given up:
 * drain (bounded), commit, fence, in this order.
 */

import type { Log } from "../telemetry/log.ts";
import { BackPressure } from "./back-pressure.ts";
import { ByteBudget } from "./byte-budget.ts";
import { Committer } from "./committer.ts";
import { COMMIT_LIMIT_MS, type ConsumerTimes, partitionFetchBytesMax } from "./consumer-config.ts";
import type { ConsumerGroup, FetchedBatch, FetchedOffset } from "./consumer-group.ts";
import { errorTypes } from "./kafka-error.ts";
import { OwnedPartition, type Remembered } from "./owned-partition.ts";
import type { ConsumeOptions, PartitionProgress } from "./port.ts";
import type { SessionLease } from "./session-lease.ts";
import { atMost, type Signal } from "./signal.ts";

/** kafkajs commits this before it resets a partition. */
const OUT_OF_RANGE = -2;

/** What the coordinator says to a member that it has given up. */
const NOT_A_MEMBER: ReadonlySet<string> = new Set([
  "UNKNOWN_MEMBER_ID",
  "ILLEGAL_GENERATION",
  "FENCED_INSTANCE_ID",
]);
const ASK_AGAIN_MS = 250;

/** By topic and partition: finished in an earlier tenure or run, and not committed. */
export type Memory = Map<string, Remembered>;

export interface OwnershipOptions {
  readonly consume: ConsumeOptions;
  readonly times: ConsumerTimes;
  readonly memory: Memory;
  readonly lease: SessionLease;
  /** Fired when fetching may go on. */
  readonly wake: Signal;
  /** Records were deleted before they were read. */
  readonly onOffsetReset: () => void;
  readonly log: Log;
}

export class Ownership {
  readonly #options: OwnershipOptions;
  readonly #committer: Committer;
  readonly #backPressure: BackPressure;
  #group: ConsumerGroup | null = null;
  #owned: readonly OwnedPartition[] = [];

  constructor(options: OwnershipOptions) {
    const { consume, times, wake, log } = options;
    this.#options = options;
    this.#committer = new Committer(consume.groupId, log);
    this.#backPressure = new BackPressure({ whenFull: consume.whenFull, ...times, wake });
  }

  assign(group: ConsumerGroup, assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#group = group;
    const { bytesMax, bytesCommon = null, whenFull } = this.#options.consume;
    const all = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    group.maxBytesPerPartition = partitionFetchBytesMax(this.#options.consume, all.length);
    const shared = new ByteBudget(bytesMax, bytesCommon);
    this.#own(
      all.map(({ topic, partition }) => {
        // Records that wait for an hour in one partition must not keep the others' from coming in.
        const share = new ByteBudget(bytesMax / all.length, bytesCommon);
        return this.#create(topic, partition, whenFull === "pause" ? share : shared);
      }),
    );
  }

  /** What the group has committed; comes before the first batches. */
  offsetsFetched(fetched: readonly FetchedOffset[]): void {
    const group = this.#options.consume.groupId;
    for (const each of fetched) {
      const { topic, partition, offset } = each;
      const owned = this.#find(topic, partition);
      if (offset === OUT_OF_RANGE && owned?.fetched != null && isNews(owned, owned.fetched)) {
        const committed = owned.fetched.offset;
        this.#options.log.warn({ group, topic, partition, committed }, "kafka.offset.out-of-range");
        this.#options.onOffsetReset();
      }
      owned?.committedAt(each);
    }
  }

  /** Waits until fetching makes sense. Throws what a heartbeat throws. */
  room(group: ConsumerGroup): Promise<void> {
    return this.#backPressure.room(group);
  }

  /**
   * Takes over what was fetched, and hands over what there is room for. A batch counts only where
   * reading goes on now: while a partition moves to another leader two fetch loops ask for it, and
   * the former leader's answer, or one from before a reset, comes late.
   */
  offer(group: ConsumerGroup, batches: readonly FetchedBatch[]): void {
    for (const batch of batches) {
      const { topic, partition } = batch;
      const owned = this.#find(topic, partition);
      if (owned === undefined || batch.fetchedOffset !== positionOf(group, owned)) continue;
      const remembered = this.#options.memory.get(keyOf(owned)) ?? null;
      if (!owned.offer(batch, remembered)) this.#startAnew(owned).offer(batch, null);
      if (batch.rawMessages.length > 0) {
        group.resolveOffset({ topic, partition, offset: batch.lastOffset() });
      }
    }
    this.#backPressure.handOver();
  }

  /** Drains, commits, fences. */
  async giveUp(): Promise<void> {
    if (this.#owned.length === 0) return;
    // The coordinator keeps a member that is slow to join only as long as it hears from it.
    const heartbeat = setInterval(() => {
      this.#group?.heartbeat({ interval: 0 }).catch(() => undefined);
    }, this.#options.times.heartbeatMs);
    try {
      await this.drain();
      await atMost(COMMIT_LIMIT_MS, this.#committer.commit());
    } finally {
      clearInterval(heartbeat);
    }
    this.fence();
  }

  /** Hands nothing more over, and lets handlers finish what they have begun. */
  async drain(): Promise<void> {
    this.#backPressure.stop();
    for (const owned of this.#owned) owned.dropBacklog();
    const drains = this.#owned.map(({ handler }) => handler.drain());
    await atMost(this.#options.consume.drainLimitMs, Promise.allSettled(drains));
  }

  /** From now on these partitions are somebody else's. */
  fence(): void {
    this.#backPressure.stop();
    this.#committer.stop();
    for (const owned of this.#owned) {
      const uncommitted = owned.toCommit();
      if (uncommitted !== null) {
        this.#options.memory.set(keyOf(owned), { ...uncommitted, topicId: owned.topicId });
      } else if (owned.hasBegun) {
        this.#options.memory.delete(keyOf(owned));
      }
      owned.fence();
    }
    this.#owned = [];
  }

  progress(): PartitionProgress[] {
    return this.#owned.map((owned) => owned.progress());
  }

  #own(owned: readonly OwnedPartition[]): void {
    this.#owned = owned;
    if (this.#group === null) return;
    this.#committer.own(this.#group, owned);
    this.#backPressure.own(this.#group, owned);
  }

  #create(topic: string, partition: number, budget: ByteBudget): OwnedPartition {
    const { onAssigned, partitionRecordsMax } = this.#options.consume;
    const finish = (offset: number): void => {
      if (!owned.finish(offset)) return;
      this.#committer.progressed();
      this.#backPressure.finished();
    };
    const hold = (offset: number | null): void => {
      owned.hold(offset);
      this.#committer.progressed();
    };
    const isOurs = (): Promise<boolean> => this.#isOurs(owned);
    const owned: OwnedPartition = new OwnedPartition({
      topic,
      partition,
      recordsMax: partitionRecordsMax,
      budget,
      handler: onAssigned({ topic, partition, finish, hold, isOurs }),
    });
    return owned;
  }

  /** Asks the coordinator where the session may have run out. */
  async #isOurs(owned: OwnedPartition): Promise<boolean> {
    const { lease, wake } = this.#options;
    for (let isLost = false; !isLost && !owned.isFenced; ) {
      if (lease.isCertain()) return true;
      await this.#group?.heartbeat({ interval: 0 }).catch((error: unknown) => {
        isLost = [...errorTypes(error)].some((type) => NOT_A_MEMBER.has(type));
      });
      if (!isLost && !lease.isCertain()) await wake.wait(ASK_AGAIN_MS);
    }
    return false;
  }

  /** The log was cut off: offsets that were read before stand for other records now. */
  #startAnew(owned: OwnedPartition): OwnedPartition {
    const { topic, partition, handler, fetched } = owned;
    this.#options.log.warn({ topic, partition }, "kafka.partition.cut-off");
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

/**
 * At the first look it is what an earlier owner has left, who has counted it. And the fetch loops of
 * several brokers look at the same time.
 */
function isNews(owned: OwnedPartition, before: FetchedOffset): boolean {
  return before.offset !== OUT_OF_RANGE || owned.hasReadSince;
}

/** Where the partition's next fetch begins. kafkajs moves it back by itself when it resets an offset. */
function positionOf(group: ConsumerGroup, { topic, partition }: OwnedPartition): string {
  return group.offsetManager.nextOffset(topic, partition).toString();
}

function keyOf({ topic, partition }: OwnedPartition): string {
  return `${topic}/${partition}`;
}

/**
 * A consumer of the cluster in memory.
 *
 *   state       then
 *   joining     an assignment arrives: fetch the offsets, own the partitions
 *   owning      records are passed on while there is room
 *   giving up   no more records are passed on; drain, commit, fence; then join again or close
 *   closed      nothing
 */

import { topicIdIn } from "../../../src/kafka/consume/finished-ranges.ts";
import {
  ClosedError,
  type ConsumeOptions,
  type Consumer,
  type ConsumerVitals,
  type PartitionProgress,
} from "../../../src/kafka/port.ts";
import type { Scheduled } from "../clock/manual-clock.ts";
import type { MemoryBroker } from "./broker.ts";
import type { Member, MemoryGroup, Offset, TopicPartition } from "./group.ts";
import type { Party } from "./network.ts";
import { OwnedPartition } from "./owned-partition.ts";

/** Maximum time until a resumed partition is fetched. */
const RESUME_MAX_MS = 250;
/** Longest wait for the response to the last commit of a partition, and to leaving the group. */
const REQUEST_LIMIT_MS = 5_000;

export class MemoryConsumer implements Consumer, Member {
  readonly joined: Promise<void>;
  readonly party: Party;
  readonly topics: readonly string[];
  readonly #broker: MemoryBroker;
  readonly #group: MemoryGroup;
  readonly #options: ConsumeOptions;
  #joinedOnce: { resolve: () => void; reject: (reason: Error) => void };
  #owned: OwnedPartition[] = [];
  #generation = 0;
  /** Assignments up to this generation are ignored, because the consumer has left them to join again. */
  #ignoredUpTo = 0;
  #rebalances = 0;
  #fetchedAtMs: number | null = null;
  #takes = false;
  #wakeUp: { readonly atMs: number; readonly scheduled: Scheduled } | null = null;
  #commitDue = false;
  #lastCommit: Promise<void> = Promise.resolve();
  #givingUp: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(broker: MemoryBroker, party: Party, options: ConsumeOptions) {
    this.#broker = broker;
    this.party = party;
    this.topics = options.topics;
    this.#options = options;
    this.#group = broker.group(options.groupId);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.joined = promise;
    this.#joinedOnce = { resolve, reject };
    // A caller need not handle a rejection of this promise.
    promise.catch(() => undefined);
    this.#join();
  }

  rebalances(): number {
    return this.#rebalances;
  }

  /** Records are not deleted here. */
  offsetResets(): number {
    return 0;
  }

  vitals(): ConsumerVitals {
    return {
      isAssigned: this.#takes,
      fetchedAtMs: this.#fetchedAtMs,
      heardAtMs: this.#fetchedAtMs,
      commitFailures: 0,
      foreignMembers: [],
      unreadTopics: [],
      halts: [],
    };
  }

  progress(): readonly PartitionProgress[] {
    const { network, clock } = this.#broker;
    if (network.isUp) for (const owned of this.#owned) owned.look(clock.nowMs());
    return this.#owned.map((owned) => owned.progress());
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Fails permanently, as after the deletion of a topic. */
  crash(error: Error): void {
    if (this.#stopping !== null) return;
    this.#stopping = Promise.resolve();
    this.#stopTaking();
    this.#fence();
    this.#group.remove(this);
    this.#joinedOnce.reject(error);
    this.#options.onCrash(error);
  }

  revoke(generation: number): void {
    if (generation <= this.#ignoredUpTo) return;
    this.#ignoredUpTo = generation;
    this.expired();
  }

  expired(): void {
    if (this.#stopping !== null) return;
    this.#ignoredUpTo = Math.max(this.#ignoredUpTo, this.#generation);
    void this.#giveUp().then(() => this.#join());
  }

  assign(generation: number, partitions: readonly TopicPartition[]): void {
    if (this.#stopping !== null || generation <= this.#ignoredUpTo) return;
    if (this.#givingUp !== null) {
      // The consumer is about to join again, so an assignment from now would already be outdated.
      this.#ignoredUpTo = generation;
      return;
    }
    this.#generation = generation;
    this.#rebalances += 1;
    this.#owned = partitions.map((at) => this.#own(at));
    this.#takes = true;
    this.#wake(0);
    this.#joinedOnce.resolve();
  }

  #join(): void {
    if (this.#stopping !== null) return;
    const missing = this.topics.find((topic) => this.#broker.topics.find(topic) === undefined);
    this.#broker.network.toBroker(this.party, () => {
      // The request was overtaken by the request to leave. A coordinator would remove this member soon.
      if (this.#stopping !== null) return;
      if (missing === undefined) this.#group.join(this, this.#ignoredUpTo);
      else this.#broker.network.toClient(this.party, () => this.crash(noTopic(missing)));
    });
  }

  async #stop(): Promise<void> {
    await this.#giveUp();
    this.#joinedOnce.reject(new ClosedError("the consumer was stopped before it joined"));
    const left = new Promise<void>((resolve) => {
      this.#broker.network.toBroker(this.party, () => {
        this.#group.remove(this);
        this.#broker.network.toClient(this.party, resolve);
      });
    });
    await this.#atMost(REQUEST_LIMIT_MS, left);
  }

  #own(at: TopicPartition): OwnedPartition {
    const topic = this.#broker.topics.get(at.topic);
    const committed = this.#committed(at, topic.id);
    const { partitionRecordsMax, onAssigned } = this.#options;
    const before = this.#group.committed(at);
    const owned = new OwnedPartition(at, topic, committed, before, partitionRecordsMax);
    const handler = onAssigned({
      ...at,
      topicId: () => topic.id,
      finish: (offset) => this.#finish(owned, offset),
      // A member that was removed may not have noticed yet.
      isOurs: () => Promise.resolve(!owned.isFenced && this.#group.members().includes(this)),
      hold: (offset) => {
        owned.hold(offset);
        this.#commitSoon();
      },
    });
    owned.open(handler, () => this.#wake(this.#broker.network.latencyMs()));
    return owned;
  }

  /** An offset of an earlier topic with the same name does not apply to this topic. */
  #committed(at: TopicPartition, topicId: string): Offset {
    const committed = this.#group.committed(at) ?? { offset: 0, metadata: "" };
    const countedIn = topicIdIn(committed.metadata, committed.offset) ?? topicId;
    return countedIn === topicId ? committed : { offset: 0, metadata: "" };
  }

  #finish(owned: OwnedPartition, offset: number): void {
    if (!this.party.alive || !owned.finish(offset)) return;
    const { whenFull } = this.#options;
    if (owned.isBehind || whenFull === "pause") {
      this.#wake(whenFull === "hold" ? 0 : this.#broker.random.integer(0, RESUME_MAX_MS));
    }
    this.#commitSoon();
  }

  #wake(ms: number): void {
    if (!this.#takes) return;
    const atMs = this.#broker.clock.nowMs() + ms;
    if (this.#wakeUp !== null && this.#wakeUp.atMs <= atMs) return;
    this.#wakeUp?.scheduled.cancel();
    const scheduled = this.#broker.clock.schedule(ms, () => {
      this.#wakeUp = null;
      this.#fetch();
    });
    this.#wakeUp = { atMs, scheduled };
  }

  #fetch(): void {
    const { network } = this.#broker;
    if (!this.#takes || !this.party.alive) return;
    if (!network.isUp) {
      network.toBroker(this.party, () => this.#wake(0));
      return;
    }
    this.#fetchedAtMs = this.#broker.clock.nowMs();
    const passes = ({ topic }: OwnedPartition) => this.#options.passingTopics?.includes(topic);
    const { maxBytes } = this.#options;
    const passing = this.#owned.filter(passes);
    for (const owned of passing) owned.handOver((bytes) => hasRoom(passing, bytes, maxBytes / 4));
    const others = this.#owned.filter((owned) => !passes(owned));
    for (const owned of others) owned.handOver((bytes) => hasRoom(others, bytes, maxBytes));
  }

  /** Drains, commits, fences. */
  #giveUp(): Promise<void> {
    this.#stopTaking();
    this.#givingUp ??= (async () => {
      await this.#atMost(
        this.#options.drainLimitMs,
        Promise.all(this.#owned.map((owned) => owned.drain())),
      );
      await this.#atMost(REQUEST_LIMIT_MS, this.#commit());
      this.#fence();
      this.#givingUp = null;
    })();
    return this.#givingUp;
  }

  #stopTaking(): void {
    this.#takes = false;
    for (const owned of this.#owned) owned.takes = false;
  }

  async #report(isLast: boolean): Promise<void> {
    if (this.#options.beforeCommit === undefined || !this.party.alive) return;
    const processed = this.#owned.flatMap((owned) => owned.takeProcessed(isLast) ?? []);
    if (processed.length > 0) await this.#options.beforeCommit(processed, isLast);
  }

  #fence(): void {
    void this.#report(true);
    for (const owned of this.#owned) owned.fence();
    this.#owned = [];
  }

  async #atMost(limitMs: number, work: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const limit = this.#broker.clock.schedule(limitMs, resolve);
    await Promise.race([work, promise]);
    limit.cancel();
  }

  #commitSoon(): void {
    if (this.#commitDue) return;
    this.#commitDue = true;
    this.#broker.clock.schedule(this.#broker.commitIntervalMs, () => {
      this.#commitDue = false;
      if (this.party.alive && this.#givingUp === null) void this.#commit();
    });
  }

  /** Commits run one at a time, so that an earlier commit cannot overtake a later one. */
  #commit(): Promise<void> {
    this.#lastCommit = this.#lastCommit.then(() => this.#commitChanges());
    return this.#lastCommit;
  }

  async #commitChanges(): Promise<void> {
    const { network } = this.#broker;
    const changes = this.#owned.flatMap((owned) => {
      const offset = owned.uncommitted();
      return offset === null ? [] : [{ owned, offset }];
    });
    if (changes.length === 0) return;
    const generation = this.#generation;
    await this.#report(false);
    await new Promise<void>((resolve) => {
      network.toBroker(this.party, () => {
        const offsets = changes.map(({ offset }) => offset);
        const isAccepted = this.#group.commit(this, generation, offsets);
        network.toClient(this.party, () => {
          if (isAccepted) for (const { owned, offset } of changes) owned.committed(offset);
          resolve();
        });
      });
    });
  }
}

function hasRoom(owned: readonly OwnedPartition[], bytes: number, maxBytes: number): boolean {
  let inFlight = 0;
  for (const { inFlightBytes } of owned) inFlight += inFlightBytes;
  return inFlight === 0 || inFlight + bytes <= maxBytes;
}

function noTopic(topic: string): Error {
  return new Error(`the topic ${topic} does not exist`);
}

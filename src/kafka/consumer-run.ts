/**
 * One kafkajs consumer from its start to its end: `consumer.ts` starts another one after an outage.
 *
 *   state      the fetch loops             begins with
 *   joining    wait                        the start, or partitions given up for a rebalance
 *   taking     fetch, or wait for room     an assignment
 *   leaving    wait                        drain; then commit; then fence
 *   over       end                         stop, crash
 *
 * Records come in where kafkajs fetches: our wrapper around `ConsumerGroup.fetch` takes the batches
 * and gives kafkajs none, so that nothing waits in its queues when a rebalance comes. A fetch loop
 * is held by not returning from there, heartbeating meanwhile; an error of the heartbeat goes on to
 * kafkajs, which joins again.
 */

import type { Consumer as KafkajsConsumer } from "kafkajs";

import type { Log } from "../telemetry/log.ts";
import { Committer } from "./committer.ts";
import type { Client, Clients } from "./connection.ts";
import { type ConsumerGroup, consumerGroupHooks, type FetchedBatch } from "./consumer-group.ts";
import { errorTypes } from "./kafka-error.ts";
import { PartitionAssigners } from "./kafkajs.ts";
import { type ByteBudget, OwnedPartition, type Remembered } from "./owned-partition.ts";
import type { ConsumeOptions, PartitionProgress } from "./port.ts";
import { atMost, Signal } from "./signal.ts";

type State = "joining" | "taking" | "leaving" | "over";

/** Longest silence while a fetch loop is held. */
const HOLD_STEP_MS = 300;
const COMMIT_LIMIT_MS = 5_000;
const LEAVE_LIMIT_MS = 5_000;
const POLL_MAX_MS = 5_000;
/** While something is paused, so that it is soon fetched again after it was resumed. */
const POLL_PAUSED_MS = 250;
const FETCH_BYTES_MIN = 64 * 1024;
const FETCH_BYTES_MAX = 1024 * 1024;
/** A topic that was just created or deleted is not known the same everywhere at once. */
const UNKNOWN_TOPIC_MAX = 3;
const UNKNOWN_TOPIC_DELAY_MS = 300;

export interface RunCallbacks {
  readonly joined: () => void;
  /** What an earlier run finished and could not commit. */
  readonly recall: (topic: string, partition: number) => Remembered | null;
  readonly remember: (topic: string, partition: number, remembered: Remembered) => void;
}

export class ConsumerRun {
  /** Resolves when it has ended by itself, with the reason; or null after `stop`. */
  readonly ended: Promise<Error | null>;
  readonly #end: (error: Error | null) => void;
  readonly #options: ConsumeOptions;
  readonly #callbacks: RunCallbacks;
  readonly #log: Log;
  readonly #client: Client;
  readonly #consumer: KafkajsConsumer;
  readonly #committer: Committer;
  readonly #budget: ByteBudget;
  readonly #heartbeatMs: number;
  readonly #pollMs: number;
  /** Fired when something that a fetch loop waits for may have come. */
  readonly #wake = new Signal();
  /** Fired when fetches under way are not worth waiting for. */
  readonly #interrupt = new Signal();
  #state: State = "joining";
  #group: ConsumerGroup | null = null;
  /** Changes with each assignment: what was fetched under an earlier one is dropped. */
  #epoch = 0;
  #owned: OwnedPartition[] = [];
  #givingUp: Promise<void> | null = null;
  #feeding = false;
  #unknownTopic = 0;

  constructor(clients: Clients, options: ConsumeOptions, callbacks: RunCallbacks, log: Log) {
    const { sessionTimeoutMs } = clients.connection;
    const { groupId, bytesMax, drainLimitMs } = options;
    const ended = Promise.withResolvers<Error | null>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    this.#options = options;
    this.#callbacks = callbacks;
    this.#log = log;
    this.#budget = { inHand: 0, max: bytesMax };
    this.#committer = new Committer(groupId, log);
    this.#client = clients.create();
    // An idle consumer heartbeats when a poll returns, so a poll must be well below the timeout.
    this.#pollMs = Math.min(POLL_MAX_MS, Math.floor(sessionTimeoutMs / 2));
    this.#heartbeatMs = Math.floor(sessionTimeoutMs / 4);
    const fetchBytes = Math.min(FETCH_BYTES_MAX, Math.max(FETCH_BYTES_MIN, bytesMax / 4));
    this.#consumer = this.#client.kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: Math.max(60_000, drainLimitMs + COMMIT_LIMIT_MS + 2 * this.#pollMs),
      heartbeatInterval: this.#heartbeatMs,
      maxWaitTimeInMs: this.#pollMs,
      maxBytes: Math.floor(fetchBytes),
      maxBytesPerPartition: Math.floor(fetchBytes),
      allowAutoTopicCreation: false,
      // Every crash ends this run. kafkajs would start again with connections in an odd state.
      retry: { restartOnFailure: async () => false },
      ...consumerGroupHooks(PartitionAssigners.roundRobin, {
        beforeJoin: (group) => this.#beforeJoin(group),
        offsetsFetched: (fetched) => {
          for (const { topic, partition, offset } of fetched) {
            if (offset === -2) log.warn({ groupId, topic, partition }, "kafka.offset.out-of-range");
          }
          for (const each of fetched) this.#find(each.topic, each.partition)?.committedAt(each);
        },
      }),
    });
    const { GROUP_JOIN, CRASH } = this.#consumer.events;
    this.#consumer.on(GROUP_JOIN, ({ payload }) => this.#assigned(payload.memberAssignment));
    this.#consumer.on(CRASH, ({ payload }) => this.#fail(payload.error));
  }

  async start(): Promise<void> {
    try {
      await this.#consumer.connect();
      await this.#subscribe();
      await this.#consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async () => undefined,
      });
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Drains, commits, leaves the group, closes the connections. Never rejects. */
  async stop(): Promise<void> {
    // kafkajs hangs when it is stopped before it has joined.
    const untilMs = Date.now() + LEAVE_LIMIT_MS;
    for (let leftMs = LEAVE_LIMIT_MS; this.#state === "joining" && leftMs > 0; ) {
      await this.#wake.wait(leftMs);
      leftMs = untilMs - Date.now();
    }
    await this.#giveUp();
    await this.#close(null);
  }

  progress(): PartitionProgress[] {
    return this.#owned.map((owned) => owned.progress());
  }

  #find(topic: string, partition: number): OwnedPartition | undefined {
    return this.#owned.find((owned) => owned.topic === topic && owned.partition === partition);
  }

  async #subscribe(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#consumer.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
        return;
      } catch (error) {
        const isUnknown = errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
        if (!isUnknown || attempt === UNKNOWN_TOPIC_MAX || this.#state === "over") throw error;
        await this.#wake.wait(UNKNOWN_TOPIC_DELAY_MS);
      }
    }
  }

  async #beforeJoin(group: ConsumerGroup): Promise<void> {
    if (this.#state === "over") throw new Error("the consumer is stopped");
    if (this.#group !== group) {
      this.#group = group;
      const fetch = group.fetch.bind(group);
      group.fetch = (nodeId) => this.#fetch(group, () => fetch(nodeId));
    }
    await this.#giveUp();
    if (this.#state === "leaving") this.#state = "joining";
  }

  #assigned(assignment: Readonly<Record<string, readonly number[]>>): void {
    const group = this.#group;
    if (group === null || this.#state !== "joining") return;
    group.resume(group.paused());
    group.maxWaitTime = this.#pollMs;
    this.#epoch += 1;
    this.#owned = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => this.#own(topic, partition)),
    );
    this.#committer.own(group, this.#owned);
    this.#state = "taking";
    this.#wake.fire();
    this.#callbacks.joined();
  }

  #own(topic: string, partition: number): OwnedPartition {
    const { onAssigned, partitionRecordsMax } = this.#options;
    const finish = (offset: number): void => {
      if (!owned.finish(offset)) return;
      this.#committer.progressed();
      if (!this.#feeding && this.#owned.some(({ hasBacklog, isPaused }) => hasBacklog || isPaused))
        this.#feedSoon();
    };
    const owned: OwnedPartition = new OwnedPartition({
      topic,
      partition,
      recordsMax: partitionRecordsMax,
      budget: this.#budget,
      handler: onAssigned({ topic, partition, finish }),
    });
    return owned;
  }

  async #fetch(group: ConsumerGroup, fetch: () => Promise<FetchedBatch[]>): Promise<never[]> {
    const epoch = this.#epoch;
    try {
      if (this.#state === "taking") await this.#waitForRoom(group);
      if (this.#state !== "taking" || this.#epoch !== epoch) {
        if (this.#state !== "taking") await this.#wake.wait(HOLD_STEP_MS);
        return [];
      }
      const batches = await this.#interrupt.orElse(fetch(), []);
      if (this.#epoch === epoch && this.#state === "taking") this.#offer(group, batches);
      this.#unknownTopic = 0;
    } catch (error) {
      // The other brokers' fetch loops must end before kafkajs does anything about it.
      this.#interrupt.fire();
      this.#wake.fire();
      if (errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION")) {
        this.#unknownTopic += 1;
        if (this.#unknownTopic >= UNKNOWN_TOPIC_MAX) this.#fail(error as Error);
      }
      throw error;
    }
    return [];
  }

  /** `hold`: until all that was fetched is handed over. `pause`: while all partitions are paused. */
  async #waitForRoom(group: ConsumerGroup): Promise<void> {
    const epoch = this.#epoch;
    const isHeld = (): boolean =>
      this.#options.whenFull === "hold"
        ? this.#owned.some(({ hasBacklog }) => hasBacklog)
        : this.#owned.length > 0 && this.#owned.every(({ isPaused }) => isPaused);
    while (this.#state === "taking" && this.#epoch === epoch && isHeld()) {
      await this.#wake.wait(HOLD_STEP_MS);
      if (this.#state === "taking") await group.heartbeat({ interval: this.#heartbeatMs });
    }
  }

  #offer(group: ConsumerGroup, batches: readonly FetchedBatch[]): void {
    for (const batch of batches) {
      const { topic, partition } = batch;
      const owned = this.#find(topic, partition);
      if (owned === undefined) continue;
      const recalled = this.#callbacks.recall(topic, partition);
      if (!owned.offer(batch, recalled)) this.#startAnew(group, owned, batch);
      if (batch.rawMessages.length > 0) {
        group.resolveOffset({ topic, partition, offset: batch.lastOffset() });
      }
    }
    this.#feed();
  }

  /** The log was cut off: offsets that were read before stand for other records now. */
  #startAnew(group: ConsumerGroup, owned: OwnedPartition, batch: FetchedBatch): void {
    const { topic, partition } = owned;
    this.#log.warn({ topic, partition, offset: batch.fetchedOffset }, "kafka.partition.cut-off");
    owned.fence();
    void owned.handler.drain();
    const fresh = this.#own(topic, partition);
    this.#owned = this.#owned.map((other) => (other === owned ? fresh : other));
    this.#committer.own(group, this.#owned);
    fresh.offer(batch, null);
  }

  #feedSoon(): void {
    if (this.#feeding) return;
    this.#feeding = true;
    setImmediate(() => {
      this.#feeding = false;
      this.#feed();
    });
  }

  /** Hands over what there is room for, up to 1,000 records of each partition, then lets others run. */
  #feed(): void {
    if (this.#state !== "taking") return;
    let hasMore = false;
    for (const owned of this.#owned) {
      if (owned.hasBacklog && owned.handOver() === "more") hasMore = true;
    }
    if (this.#options.whenFull === "pause") this.#pauseAndResume();
    if (hasMore) this.#feedSoon();
    else this.#wake.fire();
  }

  #pauseAndResume(): void {
    for (const owned of this.#owned) {
      const { topic, partition } = owned;
      const topicPartitions = [{ topic, partitions: [partition] }];
      if (!owned.isPaused && owned.hasBacklog) {
        owned.isPaused = true;
        this.#group?.pause(topicPartitions);
      } else if (owned.isPaused && !owned.hasBacklog && owned.isHalfEmpty) {
        owned.isPaused = false;
        this.#group?.resume(topicPartitions);
      }
    }
    const isAnyPaused = this.#owned.some(({ isPaused }) => isPaused);
    if (this.#group !== null) {
      this.#group.maxWaitTime = isAnyPaused ? POLL_PAUSED_MS : this.#pollMs;
    }
  }

  /** Drains, commits, fences, in this order. Joins the one under way. */
  #giveUp(): Promise<void> {
    this.#givingUp ??= this.#giveUpOnce().finally(() => {
      this.#givingUp = null;
    });
    return this.#givingUp;
  }

  async #giveUpOnce(): Promise<void> {
    if (this.#state === "taking") this.#state = "leaving";
    this.#wake.fire();
    if (this.#owned.length === 0) return;
    for (const owned of this.#owned) owned.dropBacklog();
    // The coordinator keeps a member that is slow to join only as long as it hears from it.
    const group = this.#group;
    const heartbeat = setInterval(() => {
      group?.heartbeat({ interval: 0 }).catch(() => undefined);
    }, this.#heartbeatMs);
    try {
      await atMost(
        this.#options.drainLimitMs,
        Promise.all(this.#owned.map(({ handler }) => handler.drain())),
      );
      await atMost(COMMIT_LIMIT_MS, this.#committer.commit());
    } finally {
      clearInterval(heartbeat);
    }
    this.#fence();
  }

  #fence(): void {
    for (const owned of this.#owned) {
      const remembered = owned.fence();
      if (remembered !== null) {
        this.#callbacks.remember(owned.topic, owned.partition, remembered);
      }
    }
    this.#owned = [];
    this.#committer.stop();
    this.#epoch += 1;
  }

  /** Ends the run without leaving the group in order. */
  #fail(error: Error): void {
    if (this.#state === "over") return;
    const owned = this.#owned;
    void atMost(
      this.#options.drainLimitMs,
      Promise.all(owned.map(({ handler }) => handler.drain())),
    ).then(() => this.#close(error));
    this.#state = "over";
  }

  async #close(error: Error | null): Promise<void> {
    this.#state = "over";
    this.#fence();
    const group = this.#group;
    if (group !== null) group.heartbeat = async () => undefined;
    const stopped = this.#consumer.stop();
    this.#interrupt.fire();
    this.#wake.fire();
    await atMost(LEAVE_LIMIT_MS, stopped);
    const disconnected = this.#consumer.disconnect();
    this.#client.destroy();
    await atMost(LEAVE_LIMIT_MS, disconnected);
    this.#end(error);
  }
}

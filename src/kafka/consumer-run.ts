/**
 * One kafkajs consumer from its start to its end: `consumer.ts` starts another one after an outage.
 *
 *   state      the fetch loops             begins with
 *   joining    wait                        the start, or partitions given up for a rebalance
 *   taking     fetch, or wait for room     an assignment
 *   leaving    wait                        drain; then commit; then fence
 *   over       end                         stop, crash
 *
 * What stays until somebody acts (a damaged batch, a right that is missing) is left like a stop: a
 * run that began where this one did would deliver the same again, and so would the next.
 *
 * Records come in where kafkajs fetches: our wrapper around `ConsumerGroup.fetch` takes the batches
 * and gives kafkajs none, so that nothing waits in its queues when a rebalance comes. A fetch loop
 * is held by not returning from there, heartbeating meanwhile; an error of the heartbeat goes on to
 * kafkajs, which joins again.
 */

import type { Consumer as KafkajsConsumer } from "kafkajs";

import type { Log } from "../telemetry/log.ts";
import type { Client, Clients } from "./connection.ts";
import { consumerTimes, fetchBytesMax } from "./consumer-config.ts";
import { type ConsumerGroup, consumerGroupHooks, type FetchedBatch } from "./consumer-group.ts";
import { FetchPace } from "./fetch-pace.ts";
import { errorTypes, troubleOf } from "./kafka-error.ts";
import { PartitionAssigners } from "./kafkajs.ts";
import { type Memory, Ownership } from "./ownership.ts";
import type { ConsumeOptions, PartitionProgress } from "./port.ts";
import { SessionLease } from "./session-lease.ts";
import { atMost, Signal } from "./signal.ts";

type State = "joining" | "taking" | "leaving" | "over";

/** Between looks of a fetch loop at whether it may go on. */
const STEP_MS = 300;
const LEAVE_LIMIT_MS = 5_000;
/** Four seconds in all: brokers that restart, or a topic just created, are not known at once. */
const UNKNOWN_TOPIC_MAX = 5;
const UNKNOWN_TOPIC_DELAY_MS = 1_000;
/** No broker's id. */
const JOIN = "join";
const INTERRUPTED: FetchedBatch[] = [];

export interface RunOptions {
  readonly consume: ConsumeOptions;
  /** Outlives the run. */
  readonly memory: Memory;
  readonly onJoined: () => void;
  readonly onOffsetReset: () => void;
  readonly log: Log;
}

export class ConsumerRun {
  /** Resolves when it has ended by itself, with the reason; or with null after `stop`. */
  readonly ended: Promise<Error | null>;
  readonly #end: (error: Error | null) => void;
  readonly #topics: readonly string[];
  readonly #onJoined: () => void;
  readonly #client: Client;
  readonly #consumer: KafkajsConsumer;
  readonly #ownership: Ownership;
  /** Fired when something that a fetch loop waits for may have come. */
  readonly #wake = new Signal();
  /** Fired when fetches under way are not worth waiting for. */
  readonly #interrupt = new Signal();
  readonly #pace: FetchPace;
  #state: State = "joining";
  #group: ConsumerGroup | null = null;
  /** Changes with each assignment: what was fetched under an earlier one is dropped. */
  #epoch = 0;
  readonly #lease: SessionLease;
  #givingUp: Promise<void> | null = null;
  /** By whom was asked: how often in a row a topic was unknown. */
  readonly #unknownTopic = new Map<string, number>();

  constructor(clients: Clients, options: RunOptions) {
    const { consume, memory, onJoined, onOffsetReset, log } = options;
    const { sessionTimeoutMs } = clients.connection;
    const ended = Promise.withResolvers<Error | null>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    this.#topics = consume.topics;
    this.#pace = new FetchPace(consume.fetchSpacingMs);
    this.#onJoined = onJoined;
    const times = consumerTimes(sessionTimeoutMs, consume.drainLimitMs);
    const lease = new SessionLease(sessionTimeoutMs, Date.now);
    this.#lease = lease;
    const wake = this.#wake;
    this.#ownership = new Ownership({ consume, times, memory, lease, wake, onOffsetReset, log });
    this.#client = clients.create();
    this.#consumer = this.#client.kafka.consumer({
      groupId: consume.groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: times.rebalanceTimeoutMs,
      heartbeatInterval: times.heartbeatMs,
      maxWaitTimeInMs: times.pollMs,
      maxBytes: fetchBytesMax(consume),
      maxBytesPerPartition: fetchBytesMax(consume),
      allowAutoTopicCreation: false,
      // Every crash ends this run. kafkajs would start again with connections in an odd state.
      retry: { restartOnFailure: async () => false },
      ...consumerGroupHooks(PartitionAssigners.roundRobin, {
        beforeJoin: (group) => this.#beforeJoin(group),
        offsetsFetched: (fetched) => this.#ownership.offsetsFetched(fetched),
        joinsAgain: (error) => this.#joinsAgain(error),
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
      if (this.#state === "over") return;
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
    const untilMs = performance.now() + LEAVE_LIMIT_MS;
    for (let leftMs = LEAVE_LIMIT_MS; this.#state === "joining" && leftMs > 0; ) {
      await this.#wake.wait(leftMs);
      leftMs = untilMs - performance.now();
    }
    await this.#giveUp();
    await this.#close(null);
  }

  progress(): PartitionProgress[] {
    return this.#ownership.progress();
  }

  async #subscribe(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#consumer.subscribe({ topics: [...this.#topics], fromBeginning: true });
        return;
      } catch (error) {
        const isLast = attempt === UNKNOWN_TOPIC_MAX || this.#state === "over";
        if (!isUnknownTopic(error) || isLast) throw error;
        await this.#wake.wait(UNKNOWN_TOPIC_DELAY_MS);
      }
    }
  }

  async #beforeJoin(group: ConsumerGroup): Promise<void> {
    if (this.#state === "over") throw new Error("the consumer is stopped");
    if (this.#group !== group) {
      this.#group = group;
      const fetch = group.fetch.bind(group);
      group.fetch = async (nodeId) => {
        const waitMs = this.#pace.waitMs(nodeId, performance.now());
        if (waitMs > 0) await this.#interrupt.wait(waitMs);
        return this.#fetch(group, nodeId, async () => {
          this.#pace.begins(nodeId, performance.now());
          const batches = await fetch(nodeId);
          this.#pace.ended(nodeId, batches.some(isBehind));
          return batches;
        });
      };
      this.#lease.watch(group);
    }
    await this.#giveUp();
    if (this.#state === "leaving") this.#state = "joining";
    // Not when the answer is read: a process may have been frozen before that.
    this.#lease.begin();
  }

  /** With several brokers, some of them know a topic later than the one that was subscribed at. */
  async #joinsAgain(error: unknown): Promise<boolean> {
    if (!isUnknownTopic(error)) return false;
    if (this.#isFinal(error, JOIN)) {
      // kafkajs would fetch on, for a member that has joined nothing.
      this.#fail(error as Error);
      return false;
    }
    await this.#wake.wait(UNKNOWN_TOPIC_DELAY_MS);
    return this.#state !== "over";
  }

  #assigned(assignment: Readonly<Record<string, readonly number[]>>): void {
    const group = this.#group;
    if (group === null || this.#state !== "joining") return;
    this.#epoch += 1;
    this.#unknownTopic.delete(JOIN);
    this.#ownership.assign(group, assignment);
    this.#state = "taking";
    this.#wake.fire();
    this.#onJoined();
  }

  async #fetch(
    group: ConsumerGroup,
    nodeId: string,
    fetch: () => Promise<FetchedBatch[]>,
  ): Promise<never[]> {
    const epoch = this.#epoch;
    try {
      if (this.#state === "taking") await this.#ownership.room(group);
      if (this.#state !== "taking" || this.#epoch !== epoch) {
        if (this.#state !== "taking") await this.#wake.wait(STEP_MS);
        return [];
      }
      const batches = await this.#interrupt.orElse(fetch(), INTERRUPTED);
      if (batches !== INTERRUPTED) this.#unknownTopic.delete(nodeId);
      // A process that was frozen finds what brokers have sent to it long ago. Others have that by
      // now: the heartbeat says so, and throws.
      const isCertain = this.#lease.isCertain() || (await this.#lease.makeCertain(group));
      if (isCertain && this.#epoch === epoch && this.#state === "taking") {
        this.#ownership.offer(group, batches);
      }
      return [];
    } catch (error) {
      // The other brokers' fetch loops must end before kafkajs does anything about it.
      this.#interrupt.fire();
      if (this.#isFinal(error, nodeId)) {
        // As the member that it still is: kafkajs leaves the group before it calls this a crash.
        await this.#giveUp();
        this.#fail(error as Error);
      }
      throw error;
    }
  }

  #isFinal(error: unknown, asked: string): boolean {
    if (!isUnknownTopic(error)) return troubleOf(error) === "fatal";
    const times = (this.#unknownTopic.get(asked) ?? 0) + 1;
    this.#unknownTopic.set(asked, times);
    return times >= UNKNOWN_TOPIC_MAX;
  }

  /** Drains, commits, fences. Joins the one under way. */
  #giveUp(): Promise<void> {
    if (this.#state === "taking") this.#state = "leaving";
    this.#wake.fire();
    this.#givingUp ??= this.#ownership.giveUp().finally(() => {
      this.#givingUp = null;
    });
    return this.#givingUp;
  }

  /** Ends the run with what can still be done: handlers finish what they have begun. */
  #fail(error: Error): void {
    if (this.#state === "over") return;
    this.#state = "over";
    void this.#ownership.drain().then(() => this.#close(error));
  }

  async #close(error: Error | null): Promise<void> {
    this.#state = "over";
    this.#ownership.fence();
    // kafkajs would join again if it heard of a rebalance now.
    if (this.#group !== null) this.#group.heartbeat = async () => undefined;
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

/** Whether the partition has more than was fetched of it. */
function isBehind(batch: FetchedBatch): boolean {
  return Number(batch.lastOffset()) + 1 < Number(batch.highWatermark);
}

function isUnknownTopic(error: unknown): boolean {
  return errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
}

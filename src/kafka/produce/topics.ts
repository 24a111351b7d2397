/**
 * Manages the topics to which a producer writes, and looks up their partitions and leaders.
 *
 *   a topic                                  is looked up
 *   is new, or a leader has changed          immediately, in one request with others at the same time
 *   is missing, or lacks a leader            repeatedly, 50 ms to 2 s apart, while records wait,
 *                                            regardless of their number; logged once
 *   is known                                 again after 20 seconds: it may have more partitions
 *   was not written for five minutes, or     no longer: it is dropped, together with the producer IDs
 *   for 20 seconds and is missing            of its batches
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Brokers } from "../cluster/brokers.ts";
import { errorType, retryDelayMs } from "../cluster/kafka-error.ts";
import type { OutageLog } from "../cluster/outage-log.ts";
import type { Identity } from "../cluster/permission.ts";
import type { TopicMetadata } from "../cluster/topic-metadata.ts";
import type { BlockedBy } from "../port.ts";
import { blockedBy, rejectionText } from "./outcome.ts";
import type { PartitionBuffer } from "./partition-buffer.ts";
import { ProduceTopic } from "./topic.ts";

const AGE_MAX_MS = 20_000;
/** An unused topic is dropped after this many refreshes, which is five minutes. */
const IDLE_ROUNDS_MAX = 15;

interface ProduceTopicsOptions {
  readonly brokers: Brokers;
  readonly outages: OutageLog;
  readonly identity: Identity;
  readonly clock: Pick<Clock, "nowMs">;
  readonly recordMaxBytes: (topic: string) => number;
  /** Called when the brokers report that a topic, or one of its partitions, is not writable. */
  readonly onRejected: (topic: ProduceTopic) => void;
  /** Called with buffers that have records and a leader, after each lookup of leaders. */
  readonly onLeaders: (buffers: readonly PartitionBuffer[]) => void;
  /** Called before a buffer is dropped, or drops a batch that may have been written. */
  readonly dropId: (buffer: PartitionBuffer) => void;
}

export class ProduceTopics {
  readonly #options: ProduceTopicsOptions;
  readonly #topics = new Map<string, ProduceTopic>();
  readonly #wanted = new Set<ProduceTopic>();
  #isRequesting = false;
  /** The timer for the next lookup, if the last lookup was incomplete. */
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #refreshedAtMs: number;
  #isClosed = false;

  constructor(options: ProduceTopicsOptions) {
    this.#options = options;
    this.#refreshedAtMs = options.clock.nowMs();
  }

  get(name: string): ProduceTopic {
    const known = this.#topics.get(name);
    if (known !== undefined) return known;
    const topic = new ProduceTopic(name, this.#options.recordMaxBytes(name));
    this.#topics.set(name, topic);
    return topic;
  }

  /** Looks up the topic's leaders. Concurrent lookups share a request. */
  lookup(topic: ProduceTopic): void {
    if (this.#isClosed) return;
    const isFirst = this.#wanted.size === 0;
    this.#wanted.add(topic);
    if (isFirst && !this.#isRequesting) setImmediate(() => void this.#request());
  }

  /** Looks up leaders for records whose partition has none, unless a timer is already set to do so. */
  lookupInTurn(topic: ProduceTopic): void {
    if (!topic.isRetryTimed) this.lookup(topic);
  }

  /** Looks up all topics if they were last refreshed long ago. */
  refresh(nowMs: number): void {
    // The absolute value is used so that topics are also refreshed if the clock was set back.
    if (Math.abs(nowMs - this.#refreshedAtMs) < AGE_MAX_MS) return;
    this.#refreshedAtMs = nowMs;
    for (const topic of this.#topics.values()) {
      if (this.#isIdle(topic)) this.#forget(topic);
      else this.lookup(topic);
    }
  }

  /**
   * `true` if nothing is written to the topic any more. Its destination may have been removed, and the topic deleted.
   */
  #isIdle(topic: ProduceTopic): boolean {
    topic.idleRounds = topic.wasUsed || topic.hasRecords ? 0 : topic.idleRounds + 1;
    topic.wasUsed = false;
    const isMissing = topic.block.sinceMs !== null && topic.block.by === "missing";
    return topic.idleRounds >= (isMissing ? 1 : IDLE_ROUNDS_MAX);
  }

  /**
   * Drops the topic and its producer IDs. If records are written to the topic again, its buffers start at sequence 0,
   * which requires an ID that they have never had.
   */
  #forget(topic: ProduceTopic): void {
    this.#topics.delete(topic.name);
    this.#wanted.delete(topic);
    for (const buffer of topic.buffers) this.#options.dropId(buffer);
  }

  all(): Iterable<ProduceTopic> {
    return this.#topics.values();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #request(): Promise<void> {
    if (this.#isClosed || this.#isRequesting) return;
    this.#isRequesting = true;
    const requested = [...this.#wanted];
    this.#wanted.clear();
    try {
      const names = requested.map(({ name }) => name);
      const { topics } = await this.#options.brokers.metadata(names);
      for (const metadata of topics) this.#learn(metadata);
    } catch (error) {
      if (!this.#isClosed) this.#failed(error as Error);
    }
    this.#isRequesting = false;
    this.#retryLookup(
      requested.filter((topic) => topic.isWaiting || topic.isRejecting || !topic.hasLeaders),
    );
  }

  #learn(metadata: TopicMetadata): void {
    const topic = this.#topics.get(metadata.name ?? "");
    if (topic === undefined) return;
    if (metadata.errorCode !== 0) {
      const error = errorType(metadata.errorCode);
      const by = error === "UNKNOWN_TOPIC_OR_PARTITION" ? "missing" : blockedBy(error);
      const text = rejectionText(topic.name, error, this.#options.identity);
      topic.block.recordRejection(by, text, this.#options.clock.nowMs());
      this.#options.onRejected(topic);
      if (topic.reportedError === error) return;
      topic.reportedError = error;
      this.reportRejected(topic.name, by, text);
      return;
    }
    topic.reportedError = null;
    this.#options.onLeaders(
      topic.update(metadata, this.#options.clock.nowMs(), this.#options.dropId),
    );
    this.#reportAbsent(topic);
    if (topic.isRejecting) this.#options.onRejected(topic);
  }

  /** Logs the rejection, at most once a minute. */
  reportRejected(topic: string, by: BlockedBy, error: string): void {
    const { outages } = this.#options;
    const hint = "Its records wait until it can be written; other topics continue.";
    const fields = { topic, error, hint };
    if (by === "forbidden")
      outages.warnOnce(`${topic} ${error}`, fields, "kafka.produce.permission-missing");
    else outages.warnOnce(`${topic} ${error}`, fields, "kafka.produce.topic-missing");
  }

  #reportAbsent(topic: ProduceTopic): void {
    const partition = topic.absentPartition(this.#options.clock.nowMs());
    if (partition === null) return;
    const { name, partitions } = topic;
    const hint =
      "Records for it wait until it exists. Other partitions and topics are not affected.";
    this.#options.outages.warnOnce(
      `${name} has no partition`,
      { topic: name, partition, partitions, hint },
      "kafka.produce.partition-missing",
    );
  }

  #failed(error: Error): void {
    const fields = { error: error.message };
    this.#options.outages.warnUnlessOutage("produce metadata", fields, "kafka.produce.failing");
  }

  #retryLookup(topics: readonly ProduceTopic[]): void {
    if (this.#isClosed) return;
    for (const topic of topics) topic.isRetryTimed = true;
    if (topics.length === 0) {
      this.#failures = 0;
    } else if (this.#timer === null) {
      // If another topic is added later, the lookup of waiting topics is not postponed.
      this.#timer = setTimeout(() => this.#inTurn(), retryDelayMs(this.#failures));
      this.#failures += 1;
    }
    if (this.#wanted.size > 0) void this.#request();
  }

  /**
   * Looks up the topics that are still incomplete. All topics are checked, so that no list of incomplete topics is
   * needed.
   */
  #inTurn(): void {
    this.#timer = null;
    for (const topic of this.#topics.values()) {
      topic.isRetryTimed = false;
      const lacks = topic.isWaiting || topic.isRejecting || (topic.hasRecords && !topic.hasLeaders);
      if (lacks) this.lookup(topic);
    }
  }
}

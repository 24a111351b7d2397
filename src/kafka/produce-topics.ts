/**
 * The topics that a producer writes, and the asking for their partitions and leaders.
 *
 *   a topic                                  is asked for
 *   is new, or a leader has changed          at once, together with others of the same moment
 *   is missing, or a partition is leaderless again and again, 50 ms to 2 s apart, as long as records
 *                                            wait and however many come; logged once
 *   is known                                 again after five minutes: it may have more partitions
 */

import type { Brokers } from "./brokers.ts";
import { errorType } from "./internals.ts";
import type { OutageLog } from "./outage-log.ts";
import type { ProduceLane } from "./produce-lane.ts";
import { retryDelayMs } from "./produce-outcome.ts";
import { ProduceTopic } from "./produce-topic.ts";
import type { TopicMetadata } from "./topic-metadata.ts";

const AGE_MAX_MS = 300_000;

export interface ProduceTopicsOptions {
  readonly brokers: Brokers;
  readonly outages: OutageLog;
  readonly recordBytesMax: (topic: string) => number;
  /** Called with lanes that have records and a leader, whenever leaders have been looked up. */
  readonly onLeaders: (lanes: readonly ProduceLane[]) => void;
}

export class ProduceTopics {
  readonly #options: ProduceTopicsOptions;
  readonly #topics = new Map<string, ProduceTopic>();
  readonly #wanted = new Set<ProduceTopic>();
  #isAsking = false;
  /** Pending while something was asked for in vain. */
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #askedAllAtMs = Date.now();
  #isClosed = false;

  constructor(options: ProduceTopicsOptions) {
    this.#options = options;
  }

  get(name: string): ProduceTopic {
    const known = this.#topics.get(name);
    if (known !== undefined) return known;
    const topic = new ProduceTopic(name, this.#options.recordBytesMax(name));
    this.#topics.set(name, topic);
    return topic;
  }

  /** Asks for the topic's leaders, once all that runs now has asked for its own. */
  lookUp(topic: ProduceTopic): void {
    if (this.#isClosed) return;
    const isFirst = this.#wanted.size === 0;
    this.#wanted.add(topic);
    if (isFirst && !this.#isAsking) setImmediate(() => void this.#ask());
  }

  /** The same for records that nobody takes yet, unless the topic is going to be asked for again. */
  lookUpInTurn(topic: ProduceTopic): void {
    if (!topic.isAskedAgain) this.lookUp(topic);
  }

  /** Looks all of them up when that was long ago. */
  refresh(nowMs: number): void {
    if (nowMs - this.#askedAllAtMs < AGE_MAX_MS) return;
    this.#askedAllAtMs = nowMs;
    for (const topic of this.#topics.values()) this.lookUp(topic);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    if (this.#isClosed || this.#isAsking) return;
    this.#isAsking = true;
    const asked = [...this.#wanted];
    this.#wanted.clear();
    try {
      const names = asked.map(({ name }) => name);
      const { topicMetadata } = await this.#options.brokers.metadata(names);
      for (const metadata of topicMetadata) this.#learn(metadata);
    } catch (error) {
      if (!this.#isClosed) this.#failed(error as Error);
    }
    this.#isAsking = false;
    this.#askAgain(asked.filter((topic) => topic.isWaiting || !topic.hasLeaders));
  }

  #learn(metadata: TopicMetadata): void {
    const topic = this.get(metadata.topic);
    if (metadata.topicErrorCode !== 0) {
      const error = errorType(metadata.topicErrorCode);
      if (topic.isReportedMissing) return;
      topic.isReportedMissing = true;
      const hint = "Its records wait until it can be written; other topics go on.";
      const fields = { topic: topic.name, error, hint };
      this.#options.outages.warnOnce(
        `${topic.name} ${error}`,
        fields,
        "kafka.produce.topic-missing",
      );
      return;
    }
    topic.isReportedMissing = false;
    this.#options.onLeaders(topic.update(metadata));
  }

  #failed(error: Error): void {
    const fields = { error: error.message };
    this.#options.outages.trouble("produce metadata", fields, "kafka.produce.failing");
  }

  #askAgain(topics: readonly ProduceTopic[]): void {
    if (this.#isClosed) return;
    for (const topic of topics) topic.isAskedAgain = true;
    if (topics.length === 0) {
      this.#failures = 0;
    } else if (this.#timer === null) {
      // Whoever comes later does not put off those who wait.
      this.#timer = setTimeout(() => this.#inTurn(), retryDelayMs(this.#failures));
      this.#failures += 1;
    }
    if (this.#wanted.size > 0) void this.#ask();
  }

  /** A list of them would grow; whoever still lacks something is found here. */
  #inTurn(): void {
    this.#timer = null;
    for (const topic of this.#topics.values()) {
      topic.isAskedAgain = false;
      if (topic.isWaiting || (topic.hasRecords && !topic.hasLeaders)) this.lookUp(topic);
    }
  }
}

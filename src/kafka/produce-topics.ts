/**
 * The topics that a producer writes, and the asking for their partitions and leaders.
 *
 *   a topic                                  is asked for
 *   is new, or a leader has changed          at once, together with others of the same moment
 *   is missing, or a partition is leaderless again and again, 50 ms to 2 s apart; logged once
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
  /** Called with lanes that have records, whenever their leaders have been looked up. */
  readonly onLeaders: (lanes: readonly ProduceLane[]) => void;
}

export class ProduceTopics {
  readonly #options: ProduceTopicsOptions;
  readonly #topics = new Map<string, ProduceTopic>();
  readonly #wanted = new Set<ProduceTopic>();
  #isAsking = false;
  #timer: NodeJS.Timeout | undefined;
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

  /** Looks all of them up when that was long ago. */
  refresh(nowMs: number): void {
    if (nowMs - this.#askedAllAtMs < AGE_MAX_MS) return;
    this.#askedAllAtMs = nowMs;
    for (const topic of this.#topics.values()) this.lookUp(topic);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
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
    this.#failures = topics.length === 0 ? 0 : this.#failures + 1;
    if (topics.length > 0) {
      clearTimeout(this.#timer);
      // A list per timer would grow; whoever still lacks something is found again here.
      this.#timer = setTimeout(() => {
        for (const topic of this.#topics.values()) {
          if (topic.isWaiting || (topic.hasRecords && !topic.hasLeaders)) this.lookUp(topic);
        }
      }, retryDelayMs(this.#failures));
    }
    if (this.#wanted.size > 0) void this.#ask();
  }
}

/**
 * Follows the topic `suppressions` (`follow-topic.ts`) while the program runs.
 *
 *   event                                         result
 *   the whole topic has been read once            the stages start
 *   it cannot be read before that                 no stage starts; `/readyz` reports why
 *   the topic contains no key for user hashes     a process that needs one writes one, and its stages start when it
 *                                                 has read one
 *   a user is suppressed or lifted                applies at once; listeners are notified
 *   a record is invalid                           it is logged and has no effect
 *   the topic cannot be read later                what is known stays in force; health, log and a metric report it
 *   the topic ends before what was read: it was   the same, until the process restarts. New records apply in addition,
 *     recreated, or lost records                  and the key is written again
 *
 * After an outage, the whole topic is read again. Listeners are then notified of the records that were not known before.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Producer } from "../../kafka/port.ts";
import { type FollowDeps, FollowedTopic, type WholeReading } from "../control/follow-topic.ts";
import { KnownSuppressions } from "./known-suppressions.ts";
import { KEY_BYTES, keyRecord } from "./suppression-record.ts";

const LOG_LINES_PER_SECOND = 10;

export interface SuppressionsDeps extends FollowDeps {
  readonly producer: Pick<Producer, "send">;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Returns random bytes that others cannot know. */
  readonly randomBytes: (count: number) => Buffer;
}

export interface SuppressionsOptions {
  readonly topic: string;
  /** If `true`, the process writes headers with user hashes. */
  readonly needsKey: boolean;
}

/** Starts reading immediately. */
export class FollowedSuppressions implements Disposable {
  readonly suppressions: KnownSuppressions;
  /** Resolves when stages may start. */
  readonly known: Promise<void>;
  readonly #deps: SuppressionsDeps;
  readonly #topic: string;
  readonly #needsKey: boolean;
  readonly #followed: FollowedTopic;
  readonly #hasKey = Promise.withResolvers<void>();
  readonly #lines = new LineLimit(LOG_LINES_PER_SECOND);
  readonly #unwatch: () => void;
  /** The number of users who were known when the topic was recreated or lost records; null if it did not. */
  #lost: number | null = null;
  #isRead = false;
  #unreadableSinceMs = 0;
  /** The offset after the last record that was read. */
  #end = 0;

  constructor(deps: SuppressionsDeps, { topic, needsKey }: SuppressionsOptions) {
    this.#deps = deps;
    this.#topic = topic;
    this.#needsKey = needsKey;
    this.suppressions = new KnownSuppressions(deps.randomBytes(4).readInt32LE());
    this.#followed = new FollowedTopic(deps, topic, {
      startReading: (isShorter) => this.#startReading(isShorter),
      take: (records) => {
        for (const record of records) {
          const userId = this.#apply(record);
          if (userId !== null) this.suppressions.tell(userId);
        }
      },
      onFailed: (thrown, isLogged) => {
        const error = asError(thrown).message;
        if (!isLogged) deps.log.error({ topic, error }, "suppressions.read-failed");
        return true;
      },
    });
    const hasKey = needsKey ? this.#hasKey.promise : null;
    this.known = this.#followed.read.then(() => hasKey ?? undefined);
    this.#unwatch = deps.metrics.onScrape(() => this.#showMetrics());
  }

  healthProblems(): readonly string[] {
    const topic = this.#topic;
    const { error } = this.#followed;
    const why = error === null ? "" : `: ${error}`;
    if (!this.#isRead) return [`the topic ${topic} has not been read, so no stage starts${why}`];
    const problems: string[] = [];
    if (this.#needsKey && this.suppressions.key === null) {
      problems.push(`the topic ${topic} contains no key for user hashes yet, so no stage starts`);
    }
    if (error !== null) {
      problems.push(`the topic ${topic} cannot be read, so later suppressions are unknown${why}`);
    }
    if (this.#lost !== null) {
      problems.push(
        `the topic ${topic} was recreated or lost records. The ${this.#lost} users who were suppressed stay suppressed until this process restarts: write their records again before that`,
      );
    }
    return problems;
  }

  [Symbol.dispose](): void {
    this.#followed[Symbol.dispose]();
    this.#unwatch();
  }

  #startReading(isShorter: boolean): WholeReading {
    if (isShorter) this.#lose();
    const { suppressions } = this;
    const before = this.#end;
    const users = isShorter ? undefined : suppressions.newUsers();
    const isFirst = !this.#isRead;
    const changed: string[] = [];
    return {
      take: (record) => {
        const userId = this.#apply(record, users);
        if (userId !== null && !isFirst && record.offset >= before) changed.push(userId);
      },
      done: () => {
        if (users !== undefined) suppressions.replace(users);
        this.#isRead = true;
        for (const userId of changed) suppressions.tell(userId);
        if (!this.#needsKey || suppressions.key !== null) return;
        this.#writeKey(this.#deps.randomBytes(KEY_BYTES));
      },
    };
  }

  #lose(): void {
    const { suppressions } = this;
    this.#lost = Math.max(this.#lost ?? 0, suppressions.size);
    this.#end = 0;
    this.#deps.log.error({ topic: this.#topic, count: this.#lost }, "suppressions.lost");
    suppressions.forgetKeyOffset();
    if (suppressions.key !== null && this.#needsKey) this.#writeKey(suppressions.key);
  }

  /** Returns the user whom the record is about; null if there is none. */
  #apply(record: IncomingRecord, users?: ReturnType<KnownSuppressions["newUsers"]>): string | null {
    const applied = this.suppressions.apply(record, users);
    this.#end = record.offset + 1;
    switch (applied.kind) {
      case "user":
        return applied.userId;
      case "key":
        this.#hasKey.resolve();
        return null;
      case "invalid":
        this.#refused(record, applied.error);
        return null;
    }
  }

  /** The producer retries until it is closed. The key is used when it is read. */
  #writeKey(key: Buffer): void {
    const { producer, log } = this.#deps;
    const topic = this.#topic;
    producer.send([keyRecord(topic, key)]).catch((thrown: unknown) => {
      log.error({ topic, error: asError(thrown).message }, "suppressions.read-failed");
    });
  }

  #refused({ topic, partition, offset }: IncomingRecord, error: string): void {
    const omittedLines = this.#lines.admit(this.#deps.clock.nowMs());
    if (omittedLines === null) return;
    const fields = { topic, partition, offset, error, omittedLines };
    this.#deps.log.warn(fields, "suppressions.invalid-record");
  }

  #showMetrics(): void {
    const { metrics, clock } = this.#deps;
    const isComplete = this.#isRead && this.#followed.error === null && this.#lost === null;
    if (isComplete) this.#unreadableSinceMs = 0;
    else this.#unreadableSinceMs ||= clock.nowMs();
    metrics.suppressedUsers.bind({}).set(this.suppressions.size);
    metrics.suppressionsUnreadableSince.bind({}).set(this.#unreadableSinceMs / 1_000);
  }
}

/**
 * Follows the topic `suppressions` (`follow-topic.ts`) while the program runs.
 *
 *   event                                         result
 *   the whole topic has been read once            the stages that match users start (`configured-suppressions.ts`)
 *   it cannot be read before that                 they do not start; `/readyz` reports why
 *   the topic contains no key for user hashes     a process that needs one writes one, and its route stage starts when
 *                                                 it has read one
 *   the key cannot be written                     the log and `/readyz` report why; it is tried until it succeeds
 *   a user is suppressed or lifted                applies at once; listeners are notified
 *   a record is invalid                           it is logged and has no effect
 *   the topic cannot be read later                what is known stays in force; health, log and a metric report it
 *   the topic was recreated, or lost records      the same, until the process restarts. New records apply in addition,
 *                                                 also when the topic is read again, and the keys are written again
 *
 * After an outage, the whole topic is read again. Listeners are then notified of the records that were not known before.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { WatchedProducer } from "../../kafka/port.ts";
import { type FollowDeps, FollowedTopic, type WholeReading } from "../control/follow-topic.ts";
import { KnownSuppressions } from "./known-suppressions.ts";
import type { SuppressedUsers } from "./suppressed-users.ts";
import { KEY_BYTES, keyRecord } from "./suppression-record.ts";

const LOG_LINES_PER_SECOND = 10;

export interface SuppressionsDeps extends FollowDeps {
  readonly producer: Pick<WatchedProducer, "send" | "blocked">;
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
  /** Resolves when the whole topic has been read. */
  readonly read: Promise<void>;
  /** Resolves when, in addition, a key for user hashes has been read. */
  readonly hasKey: Promise<void>;
  readonly #deps: SuppressionsDeps;
  readonly #topic: string;
  readonly #needsKey: boolean;
  readonly #followed: FollowedTopic;
  readonly #key = Promise.withResolvers<void>();
  readonly #lines = new LineLimit(LOG_LINES_PER_SECOND);
  readonly #unwatch: () => void;
  /** The number of users who were known when the topic was recreated or lost records; null if it did not. */
  #lost: number | null = null;
  #isRead = false;
  #unreadableSinceMs = 0;
  #changedAtMs = 0;

  constructor(deps: SuppressionsDeps, { topic, needsKey }: SuppressionsOptions) {
    this.#deps = deps;
    this.#topic = topic;
    this.#needsKey = needsKey;
    this.suppressions = new KnownSuppressions(deps.randomBytes(4).readInt32LE());
    this.#followed = new FollowedTopic(deps, topic, {
      startReading: (hasLost) => this.#startReading(hasLost),
      take: (records) => {
        for (const record of records) this.#apply(record);
      },
      onFailed: (thrown, isLogged) => {
        const error = asError(thrown).message;
        if (!isLogged) deps.log.error({ topic, error }, "suppressions.read-failed");
        return true;
      },
    });
    this.read = this.#followed.read;
    this.hasKey = this.read.then(() => this.#key.promise);
    this.#unwatch = deps.metrics.onScrape(() => this.#showMetrics());
  }

  healthProblems(): readonly string[] {
    const topic = this.#topic;
    const { error } = this.#followed;
    const why = error === null ? "" : `: ${error}`;
    if (!this.#isRead) {
      return [
        `the topic ${topic} has not been read, so ingest, route, audience and deliver do not start${why}`,
      ];
    }
    const problems: string[] = [];
    if (this.#needsKey && this.suppressions.keys.length === 0) {
      const blocked = this.#deps.producer.blocked().find((each) => each.topic === topic);
      const cause = blocked === undefined ? "" : `: brokers reject the key (${blocked.error})`;
      problems.push(
        `the topic ${topic} contains no key for user hashes yet, so the route stage does not start${cause}`,
      );
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

  #startReading(hasLost: boolean): WholeReading {
    if (hasLost) this.#lose();
    const { suppressions } = this;
    const users = suppressions.newUsers(this.#lost !== null);
    const isFirst = !this.#isRead;
    const changed: string[] = [];
    return {
      take: (record, isNew) => {
        const userId = this.#apply(record, users);
        if (userId !== null && isNew && !isFirst) changed.push(userId);
      },
      done: () => {
        suppressions.replace(users, changed);
        this.#isRead = true;
        if (!this.#needsKey || suppressions.keys.length > 0) return;
        this.#writeKey(this.#deps.randomBytes(KEY_BYTES));
      },
    };
  }

  #lose(): void {
    const { suppressions } = this;
    this.#lost = Math.max(this.#lost ?? 0, suppressions.size);
    this.#deps.log.error({ topic: this.#topic, count: this.#lost }, "suppressions.lost");
    if (this.#needsKey) for (const key of suppressions.keys) this.#writeKey(key);
  }

  /** Returns the user whom the record is about; null if there is none. */
  #apply(record: IncomingRecord, users?: SuppressedUsers): string | null {
    const read = this.suppressions.apply(record, users);
    if (read.kind === "key") this.#key.resolve();
    if (read.kind === "invalid") this.#refused(record, read.error);
    if (!("userId" in read)) return null;
    this.#changedAtMs = Math.max(this.#changedAtMs, record.timestampMs);
    return read.userId;
  }

  /** The producer retries until it is closed, which ends both sends with an error. The key is used when it is read. */
  #writeKey(key: Buffer): void {
    const { producer, log } = this.#deps;
    const topic = this.#topic;
    const records = [keyRecord(topic, key)];
    const retry = async (error: string) => {
      log.error({ topic, error }, "suppressions.key-not-written");
      await producer.send(records);
    };
    producer
      .send(records, { giveBack: true })
      .then(([rejected]) => rejected && retry(rejected.error))
      .catch(() => undefined);
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
    metrics.suppressionsChangedAt.bind({}).set(this.#changedAtMs / 1_000);
    metrics.suppressionsUnreadableSince.bind({}).set(this.#unreadableSinceMs / 1_000);
  }
}

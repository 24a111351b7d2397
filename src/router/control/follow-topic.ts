/**
 * Follows a compacted topic with one partition: reads the whole topic, and then each new record, without a consumer
 * group. While no records are written, it sends one request every five seconds on a separate connection.
 *
 *   event                                         result
 *   the whole topic has been read                 its records apply together, in place of those of the last reading
 *   a record is written                           it is passed on within two seconds
 *   the topic cannot be read: a permission or a   what is known stays in force; a health problem, which is logged once;
 *     leader is missing, a batch is corrupt       the topic is read again every 5 s; for the first 30 s, every second
 *   the brokers have not responded for 11 s       the same, except that reading simply continues
 *   the topic is readable again                   the whole topic is read again
 *   the topic was recreated (its ID changed),     the same; the reader decides what this means (`hasLost`)
 *     or ends before what was read
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";

const PARTITION = 0;
const STEP_BYTES = 1_048_576;
const TRY_AGAIN_MS = 5_000;
const TRY_AGAIN_AT_START_MS = 1_000;
const ASK_AGAIN_MS = 1_000;
const STARTING_MS = 30_000;
/** An idle topic is requested every 5 s, and while brokers throttle this process, every 10 s. */
const SILENT_MAX_MS = 11_000;
const CHECK_EVERY_MS = 2_000;

/** One reading of the whole topic. */
export interface WholeReading {
  /** @param isNew true if the record was not there when the topic was last read. */
  take(record: IncomingRecord, isNew: boolean): void;
  /** Called when all records have been taken: they apply from now on. */
  done(): void;
}

export interface TopicFollower {
  /** @param hasLost true if the topic was recreated, or now ends before records that were read earlier. */
  startReading(hasLost: boolean): WholeReading;
  /** Takes records that were written after the whole topic was read. */
  take(records: readonly IncomingRecord[]): void;
  /** Called for each failure. Returns `true` if the failure was logged, or `isLogged` is `true`: only one is. */
  onFailed(thrown: unknown, isLogged: boolean): boolean;
}

export interface FollowDeps {
  readonly kafka: Pick<Kafka, "admin" | "read" | "follow">;
  readonly clock: Clock;
}

export class FollowedTopic implements Disposable {
  /** Resolves when the whole topic has been read; never, if it cannot be read. */
  readonly read: Promise<void>;
  readonly #deps: FollowDeps;
  readonly #topic: string;
  readonly #follower: TopicFollower;
  readonly #stopped = new AbortController();
  readonly #read = Promise.withResolvers<void>();
  /** The offset up to which the topic was read; 0 before that. */
  #position = 0;
  /** Null if the brokers have no topic IDs. */
  #topicId: string | null = null;
  #error: string | null = null;
  #isLogged = false;
  /** The time of the last response while the topic is followed; null while it is read whole. */
  #respondedAtMs: number | null = null;
  /** Callers of `caughtUp` that wait, with the offset up to which the topic must be read. */
  #waiting: { readonly end: number; readonly then: () => void }[] = [];

  /** Starts reading immediately. */
  constructor(deps: FollowDeps, topic: string, follower: TopicFollower) {
    this.#deps = deps;
    this.#topic = topic;
    this.#follower = follower;
    this.read = this.#read.promise;
    void this.#live();
    void this.#watch();
  }

  /** Why the topic cannot be read at the moment; null if it can be read. */
  get error(): string | null {
    return this.#error;
  }

  /** Resolves when the records that exist now have been taken; never, if the topic cannot be read. */
  async caughtUp(): Promise<void> {
    await this.read;
    const end = await this.#end();
    if (this.#position >= end) return;
    await new Promise<void>((then) => this.#waiting.push({ end, then }));
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
  }

  /** Asks until the brokers respond; infinite if this reader ends before that. */
  async #end(): Promise<number> {
    const { kafka, clock } = this.#deps;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        const [log] = await kafka.admin.offsets(this.#topic);
        if (log !== undefined) return log.end;
      } catch {
        // The reader reports failures.
      }
      await clock.sleep(ASK_AGAIN_MS, signal).catch(() => undefined);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** @param hasLost true if what callers wait for may never be written again. */
  #readTo(position: number, hasLost = false): void {
    this.#position = position;
    if (this.#waiting.length === 0) return;
    const isRead = ({ end }: { readonly end: number }) => hasLost || end <= position;
    const read = this.#waiting.filter(isRead);
    this.#waiting = this.#waiting.filter((each) => !isRead(each));
    for (const { then } of read) then();
  }

  async #live(): Promise<void> {
    const { kafka, clock } = this.#deps;
    const { signal } = this.#stopped;
    const range = { topic: this.#topic, partition: PARTITION, maxBytes: STEP_BYTES, signal };
    const startedAtMs = clock.nowMs();
    let isRead = false;
    while (!signal.aborted) {
      try {
        await this.#readWhole();
        this.#responded();
        isRead = true;
        this.#read.resolve();
        const onResponse = () => this.#responded();
        for await (const records of kafka.follow({ ...range, from: this.#position, onResponse })) {
          this.#follower.take(records);
          this.#readTo((records.at(-1)?.offset ?? 0) + 1);
        }
      } catch (thrown) {
        if (signal.aborted) return;
        this.#failed(thrown);
        const isStarting = !isRead && clock.nowMs() - startedAtMs < STARTING_MS;
        const waitMs = isStarting ? TRY_AGAIN_AT_START_MS : TRY_AGAIN_MS;
        await clock.sleep(waitMs, signal).catch(() => undefined);
      } finally {
        this.#respondedAtMs = null;
      }
    }
  }

  async #readWhole(): Promise<void> {
    const { kafka } = this.#deps;
    const { signal } = this.#stopped;
    const topic = this.#topic;
    const topicId = (await kafka.admin.topicIds([topic])).get(topic) ?? this.#topicId;
    const [log] = await kafka.admin.offsets(topic);
    if (log === undefined) throw new Error(`the topic ${topic} has no partition`);
    const isRecreated = this.#topicId !== null && this.#topicId !== topicId;
    const hasLost = this.#position > 0 && (isRecreated || log.end < this.#position);
    const reading = this.#follower.startReading(hasLost);
    this.#topicId = topicId;
    // If this reading fails, the next one must not report the same loss again.
    if (hasLost) this.#position = 0;
    const range = { topic, partition: PARTITION, maxBytes: STEP_BYTES, signal };
    for await (const records of kafka.read({ ...range, from: log.first, to: log.end })) {
      for (const record of records) reading.take(record, record.offset >= this.#position);
    }
    signal.throwIfAborted();
    reading.done();
    this.#readTo(log.end, hasLost);
  }

  async #watch(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
      const silentMs = clock.nowMs() - (this.#respondedAtMs ?? Number.POSITIVE_INFINITY);
      if (silentMs >= SILENT_MAX_MS) this.#failed(new Error("the brokers do not respond"));
    }
  }

  #responded(): void {
    this.#respondedAtMs = this.#deps.clock.nowMs();
    this.#error = null;
    this.#isLogged = false;
  }

  #failed(thrown: unknown): void {
    this.#error = asError(thrown).message;
    this.#isLogged = this.#follower.onFailed(thrown, this.#isLogged);
  }
}

/**
 * Writes the topic of attempts. It is for people who look for a cause, so it gives way to everything
 * else: no delivery waits for it, and none fails with it.
 *
 *   a record                                       then
 *   comes                                          its bytes wait for the next flush, 100 ms at most
 *   comes while 8 MiB are not acknowledged         is dropped, and counted
 *   is not taken: the topic is gone, or a          is dropped, and counted; a line says so once a
 *     partition takes nothing for 2 s              minute
 *   waits, and the brokers are away                waits on; those behind it are dropped
 *   waits when the process is killed               is lost: what became of its delivery is written
 *                                                  elsewhere, before its offset is committed
 *   waits when the process stops                   is written within the time that it is given
 *
 * The producer is one of its own. It has the acks and the numbering of the other one, because there
 * is one way to write here; but a request that waits for a slow replica of this topic has no parked
 * delivery or dead letter in it.
 */

import type { OutgoingRecord } from "../domain/record.ts";
import { type Kafka, type Producer, packText } from "../kafka/port.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import type { TopicKeeper } from "../stage/topic-keeper.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";

const FLUSH_EVERY_MS = 100;
const UNWRITTEN_MAX_BYTES = 8 * 1_024 * 1_024;
/** Beside its bytes, a record that waits is some objects. */
const RECORD_OVERHEAD_BYTES = 256;
const LINE_EVERY_MS = 60_000;
const CLOSE_LIMIT_MS = 2_000;
const FULL = `${UNWRITTEN_MAX_BYTES / 1_048_576} MiB of attempts are not acknowledged yet`;

export interface AttemptsTopic extends AsyncDisposable {
  /** Bytes of a refused answer that are kept; null: none. */
  readonly responses: number | null;
  /** Returns at once. @param text JSON */
  add(messageId: string, text: string): void;
}

export interface AttemptsDeps {
  readonly kafka: Pick<Kafka, "producer">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Makes the topic again when it is gone; absent: nobody does. */
  readonly keeper?: TopicKeeper;
}

/** The caller disposes it, when nothing is added any more. */
export function startAttemptsTopic(
  { kafka, clock, log, metrics, keeper }: AttemptsDeps,
  { topic, responses }: { readonly topic: string; readonly responses: number | null },
): AttemptsTopic {
  const producer = kafka.producer(keeper === undefined ? {} : { onMissing: keeper.missing });
  return new Attempts(producer, topic, responses, clock, log, metrics);
}

class Attempts implements AttemptsTopic {
  readonly responses: number | null;
  readonly #producer: Producer;
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #written;
  readonly #dropped;
  readonly #closing = new AbortController();
  #waiting: OutgoingRecord[] = [];
  #waitingBytes = 0;
  /** With those that wait. */
  #unwrittenBytes = 0;
  #unsaid = 0;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    producer: Producer,
    topic: string,
    responses: number | null,
    clock: Clock,
    log: Log,
    metrics: Metrics,
  ) {
    this.#producer = producer;
    this.#topic = topic;
    this.responses = responses;
    this.#clock = clock;
    this.#log = log;
    this.#written = metrics.attemptRecords.bind({ outcome: "written" });
    this.#dropped = metrics.attemptRecords.bind({ outcome: "dropped" });
  }

  add(messageId: string, text: string): void {
    if (this.#unwrittenBytes >= UNWRITTEN_MAX_BYTES) {
      this.#drop(1, FULL);
      return;
    }
    const record = packText(this.#topic, messageId, text);
    const bytes = text.length + RECORD_OVERHEAD_BYTES;
    this.#waitingBytes += bytes;
    this.#unwrittenBytes += bytes;
    this.#waiting.push(record);
    if (this.#waiting.length === 1) this.#flushLater();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const last = this.#flush();
    await this.#producer.close(CLOSE_LIMIT_MS);
    await last;
  }

  #flushLater(): void {
    const flush = () => void this.#flush();
    this.#clock.sleep(FLUSH_EVERY_MS, this.#closing.signal).then(flush, flush);
  }

  /** Never rejects. */
  async #flush(): Promise<void> {
    const records = this.#waiting;
    const bytes = this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (records.length === 0) return;
    try {
      const refused = await this.#producer.send(records, { giveBack: true });
      this.#written.inc(records.length - refused.length);
      const [first] = refused;
      if (first !== undefined) this.#drop(refused.length, first.error);
    } catch (error) {
      this.#drop(records.length, asError(error).message);
    }
    this.#unwrittenBytes -= bytes;
  }

  #drop(count: number, error: string): void {
    this.#dropped.inc(count);
    this.#unsaid += count;
    const nowMs = this.#clock.nowMs();
    // A clock that was set back says it, too.
    if (Math.abs(nowMs - this.#saidAtMs) < LINE_EVERY_MS) return;
    this.#saidAtMs = nowMs;
    const topic = this.#topic;
    this.#log.warn({ stage: "deliver", topic, count: this.#unsaid, error }, "attempts.dropped");
    this.#unsaid = 0;
  }
}

/**
 * Writes to the attempts topic. The topic is for diagnosis only, so nothing waits for its records: a slow or
 * failed write does not affect any delivery.
 *
 *   a record                                          result
 *   arrives                                           it waits for the next flush, for at most half a second or
 *                                                     until 512 KiB wait
 *   arrives while 8 MiB are not acknowledged          dropped and counted
 *   cannot be written, because the topic is missing   dropped and counted; logged once a minute
 *   or brokers reject it for 2 s
 *   waits while brokers are unreachable               continues to wait; later records are dropped
 *   waits when the process is killed                  lost; what happened to its delivery is written elsewhere, before
 *                                                     its offset is committed
 *   waits when the process stops                      written within the time allowed for stopping
 *
 * The topic has a separate producer, which is idempotent and waits for the same acknowledgments as the main
 * producer. Retries and dead letters therefore never share a request that waits for a slow replica of this
 * topic.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { ByteText } from "../../domain/byte-text.ts";
import type { AttemptedDestination } from "../../domain/destination.ts";
import { type OutgoingRecord, recordFor } from "../../domain/record.ts";
import type { Kafka, Producer } from "../../kafka/port.ts";
import type { Phases } from "../destinations/port.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { Attempted } from "./attempt.ts";
import { attemptWriter } from "./attempt-record.ts";

const FLUSH_EVERY_MS = 500;
const FLUSH_AT_BYTES = 512 * 1_024;
const UNWRITTEN_MAX_BYTES = 8 * 1_024 * 1_024;
const LINE_EVERY_MS = 60_000;
const CLOSE_LIMIT_MS = 2_000;
const FULL = `${UNWRITTEN_MAX_BYTES / 1_048_576} MiB of attempt records are not acknowledged yet`;

export interface AttemptsTopic extends AsyncDisposable {
  /** Returns an object for the phases of a request, and for the start of an unsuccessful response. */
  phases(): Phases;
  /** Adds a record. @param write writes the record's JSON; not called if the record is dropped. */
  add(messageId: string, write: (out: ByteText) => void): void;
}

export interface AttemptsDeps extends Pick<StageDeps, "clock" | "log" | "metrics" | "keeper"> {
  readonly kafka: Pick<Kafka, "producer">;
}

/** The caller disposes the result after adding the last record. */
export function startAttemptsTopic(
  deps: AttemptsDeps,
  { topic, responseBytes }: { readonly topic: string; readonly responseBytes: number | null },
): AttemptsTopic {
  return new Attempts(deps, topic, responseBytes);
}

class Attempts implements AttemptsTopic {
  /** Maximum number of bytes to keep of an unsuccessful response; null to keep none. */
  readonly #responseBytes: number | null;
  readonly #producer: Producer;
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #written;
  readonly #dropped;
  readonly #closing = new AbortController();
  readonly #text = new ByteText();
  #waiting: OutgoingRecord[] = [];
  #waitingBytes = 0;
  #isFlushDue = false;
  /** Includes records that wait for the next flush. */
  #unwrittenBytes = 0;
  #unsaid = 0;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AttemptsDeps, topic: string, responseBytes: number | null) {
    const { kafka, clock, log, metrics, keeper } = deps;
    this.#producer = kafka.producer(keeper === undefined ? {} : { onMissing: keeper.missing });
    this.#topic = topic;
    this.#responseBytes = responseBytes;
    this.#clock = clock;
    this.#log = log;
    this.#written = metrics.attemptRecords.bind({ outcome: "written" });
    this.#dropped = metrics.attemptRecords.bind({ outcome: "dropped" });
  }

  phases(): Phases {
    return this.#responseBytes === null ? {} : { keepBytes: this.#responseBytes };
  }

  add(messageId: string, write: (out: ByteText) => void): void {
    if (this.#unwrittenBytes >= UNWRITTEN_MAX_BYTES) {
      this.#drop(1, FULL);
      return;
    }
    const text = this.#text;
    text.length = 0;
    write(text);
    const key = Buffer.from(messageId);
    const value = Buffer.from(text.bytes.subarray(0, text.length));
    this.#waiting.push(recordFor(this.#topic, key, value));
    const bytes = key.length + value.length;
    this.#waitingBytes += bytes;
    this.#unwrittenBytes += bytes;
    if (this.#waitingBytes >= FLUSH_AT_BYTES) void this.#flush();
    else if (!this.#isFlushDue) this.#flushLater();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const last = this.#flush();
    await this.#producer.close(CLOSE_LIMIT_MS);
    await last;
  }

  #flushLater(): void {
    this.#isFlushDue = true;
    const flush = () => {
      this.#isFlushDue = false;
      void this.#flush();
    };
    this.#clock.sleep(FLUSH_EVERY_MS, this.#closing.signal).then(flush, flush);
  }

  /** Never rejects. */
  async #flush(): Promise<void> {
    const bytes = this.#waitingBytes;
    this.#waitingBytes = 0;
    const records = this.#waiting;
    this.#waiting = [];
    if (records.length === 0) return;
    try {
      const rejected = await this.#producer.send(records, { giveBack: true });
      this.#written.inc(records.length - rejected.length);
      const [first] = rejected;
      if (first !== undefined) this.#drop(rejected.length, first.error);
    } catch (error) {
      this.#drop(records.length, asError(error).message);
    }
    this.#unwrittenBytes -= bytes;
  }

  #drop(count: number, error: string): void {
    this.#dropped.inc(count);
    this.#unsaid += count;
    const nowMs = this.#clock.nowMs();
    // The difference is negative if the clock was set back.
    if (Math.abs(nowMs - this.#saidAtMs) < LINE_EVERY_MS) return;
    this.#saidAtMs = nowMs;
    const topic = this.#topic;
    this.#log.warn(
      { stage: "deliver", topic, count: this.#unsaid, error },
      "attempts.records-dropped",
    );
    this.#unsaid = 0;
  }
}

export interface AttemptNotes {
  add(attempted: Attempted): void;
  /** Applies new settings. Endpoints then get the names that these settings define. */
  update(destination: AttemptedDestination): void;
}

/** Null if attempts are not recorded. */
export function attemptsOf(
  destination: AttemptedDestination,
  notes: Pick<AttemptsTopic, "add"> | undefined,
): AttemptNotes | null {
  if (notes === undefined) return null;
  let write = attemptWriter(destination);
  return {
    add: (attempted) => notes.add(attempted.delivery.messageId, (out) => write(attempted, out)),
    update: (changed) => {
      write = attemptWriter(changed);
    },
  };
}

/**
 * Records as kafkajs hands them over, with the replaced decoder: one object is kafkajs' message and
 * the record that the stages see. A fetch has thousands that wait for their turn.
 */

import type { KafkaMessage } from "kafkajs";

import type { IncomingRecord, RecordHeaders, TellHeader } from "../domain/record.ts";
import type { RecordReader } from "./record-reader.ts";

/** What the records of a batch share. */
export interface RecordBatch {
  /** Stands behind them, and reads what they hold. */
  readonly reader: RecordReader;
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** What the records' timestamps are counted from. */
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
  /** The broker has stamped them: all have the largest timestamp. */
  readonly isStamped: boolean;
  readonly producerId: string;
  readonly inTransaction: boolean;
  readonly isControlBatch: boolean;
  /** Where it lies: the decoder does not know. */
  topic: string;
  partition: number;
}

/** Begins where a record would that stands for removed ones. */
export const REMOVED = -1;

/** What it says is decoded each time that it is asked for: little is asked for more than once. */
export class FetchedRecord implements IncomingRecord {
  readonly offset: number;
  readonly #batch: RecordBatch;
  readonly #timestampDelta: number;
  /** Where its content lies in the batch. */
  readonly #start: number;
  readonly #end: number;

  constructor(
    batch: RecordBatch,
    offset: number,
    timestampDelta: number,
    start: number,
    end: number,
  ) {
    this.offset = offset;
    this.#batch = batch;
    this.#timestampDelta = timestampDelta;
    this.#start = start;
    this.#end = end;
  }

  get topic(): string {
    return this.#batch.topic;
  }

  get partition(): number {
    return this.#batch.partition;
  }

  get timestampMs(): number {
    const { isStamped, firstTimestampMs, maxTimestampMs } = this.#batch;
    return isStamped ? maxTimestampMs : firstTimestampMs + this.#timestampDelta;
  }

  get key(): Buffer | null {
    return this.#start === REMOVED ? null : this.#batch.reader.keyAt(this.#start);
  }

  get value(): Buffer | null {
    return this.#start === REMOVED ? null : this.#batch.reader.valueAt(this.#start);
  }

  get headers(): RecordHeaders {
    return this.#start === REMOVED ? NO_HEADERS : this.#batch.reader.headersAt(this.#start);
  }

  eachHeader(tell: TellHeader): void {
    if (this.#start !== REMOVED) this.#batch.reader.eachHeaderAt(this.#start, tell);
  }

  get encoded(): Buffer {
    return this.#batch.reader.bytesFrom(this.#start, this.#end);
  }

  /** What it holds in memory. */
  get bytes(): number {
    return this.#end - this.#start + 64;
  }

  /** kafkajs asks for it, and keeps such records to itself. */
  get isControlRecord(): boolean {
    return this.#start === REMOVED || this.#batch.isControlBatch;
  }

  /** `filter-aborted.ts` asks for it. */
  get batchContext(): RecordBatch {
    return this.#batch;
  }

  /** Its topic and its partition are these, and those of all others of its batch. */
  liesIn(topic: string, partition: number): void {
    this.#batch.topic = topic;
    this.#batch.partition = partition;
  }
}

const NO_HEADERS: RecordHeaders = [];

/** A message of a set of Kafka before 0.11, which knows no headers. */
class OldRecord implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers = NO_HEADERS;

  constructor(topic: string, partition: number, message: KafkaMessage) {
    this.topic = topic;
    this.partition = partition;
    this.offset = Number(message.offset);
    this.timestampMs = Number(message.timestamp);
    this.key = message.key;
    this.value = message.value;
  }

  get bytes(): number {
    return (this.key?.length ?? 0) + (this.value?.length ?? 0) + 64;
  }
}

/**
 * The record that a message is. `decode-batch.ts` makes `FetchedRecord`s, where kafkajs' types
 * promise messages.
 */
export function recordOf(
  topic: string,
  partition: number,
  message: KafkaMessage,
): FetchedRecord | OldRecord {
  const record: unknown = message;
  if (!(record instanceof FetchedRecord)) return new OldRecord(topic, partition, message);
  record.liesIn(topic, partition);
  return record;
}

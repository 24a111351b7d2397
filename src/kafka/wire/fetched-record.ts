/**
 * A fetched record. The decoder creates the object that the stages get, because thousands of records of a fetch may be
 * in memory at the same time.
 */

import type { IncomingRecord, Omitted, RecordHeaders, VisitHeader } from "../../domain/record.ts";
import type { RecordReader } from "./record-reader.ts";

/** The values that all records of a batch share. */
export interface RecordBatch {
  readonly reader: RecordReader;
  readonly firstOffset: number;
  /** The records' timestamps are relative to this. */
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
  /** `true` if the broker has set the timestamps, so that all records have the batch's largest timestamp. */
  readonly isStamped: boolean;
  readonly producerId: string;
  readonly inTransaction: boolean;
  readonly isControlBatch: boolean;
  /** By offset delta, records that were read in part. Null if there are none. */
  readonly omitted: ReadonlyMap<number, Omitted> | null;
  /** Set by `recordOf`. */
  topic: string;
  partition: number;
}

/** The latest time that a `Date` can hold. Any producer can write a later one, with which `toISOString` would throw. */
const DATE_MAX_MS = 8.64e15;
/** How Kafka represents that a record has no timestamp. */
const NO_TIMESTAMP = -1;

/** A field is decoded each time it is read, because few fields are read more than once. */
export class FetchedRecord implements IncomingRecord {
  readonly offset: number;
  readonly #batch: RecordBatch;
  readonly #timestampDelta: number;
  /** The position of the record's content in the batch. */
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
    const atMs = isStamped ? maxTimestampMs : firstTimestampMs + this.#timestampDelta;
    return Math.abs(atMs) <= DATE_MAX_MS ? atMs : NO_TIMESTAMP;
  }

  get key(): Buffer | null {
    return this.#batch.reader.keyAt(this.#start);
  }

  get value(): Buffer | null {
    return this.#batch.reader.valueAt(this.#start);
  }

  get headers(): RecordHeaders {
    return this.#batch.reader.headersAt(this.#start);
  }

  eachHeader(visit: VisitHeader): void {
    this.#batch.reader.eachHeaderAt(this.#start, visit);
  }

  get encoded(): Buffer {
    return this.#batch.reader.bytesFrom(this.#start, this.#end);
  }

  /** The memory that the record uses. */
  get bytes(): number {
    return this.#end - this.#start + 64;
  }

  get omitted(): Omitted | undefined {
    const { omitted, firstOffset } = this.#batch;
    return omitted === null ? undefined : omitted.get(this.offset - firstOffset);
  }

  /** `true` for control records, which are not passed on to consumers. */
  get isControlRecord(): boolean {
    return this.#batch.isControlBatch;
  }

  /** For `without-aborted.ts`. */
  get batchContext(): RecordBatch {
    return this.#batch;
  }

  setPlace(topic: string, partition: number): void {
    this.#batch.topic = topic;
    this.#batch.partition = partition;
  }
}

const NO_HEADERS: RecordHeaders = [];

/** A message from a message set of Kafka before 0.11, (`message-set.ts`). Such messages have no headers. */
export interface OldMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

class OldRecord implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers = NO_HEADERS;

  constructor(topic: string, partition: number, message: OldMessage) {
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

/** The record for a message. A message from `decode-batch.ts` is already a record. */
export function recordOf(
  topic: string,
  partition: number,
  message: FetchedRecord | OldMessage,
): FetchedRecord | OldRecord {
  if (!(message instanceof FetchedRecord)) return new OldRecord(topic, partition, message);
  message.setPlace(topic, partition);
  return message;
}

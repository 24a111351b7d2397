/** Kafka records as the stages see them: whole values, no client library's types. */

import type { ValueSchema } from "./known-schemas.ts";

/** Header names may repeat and their order is kept. A null value is Kafka's null. */
export type RecordHeader = readonly [name: string, value: Buffer | null];
export type RecordHeaders = readonly RecordHeader[];

/** Where a record stands. */
export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  /** Below 2^53. */
  readonly offset: number;
}

/** The content of a record. Each read of a field may mean decoding it. */
export interface RecordContent {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** All three of them as Kafka encodes them (record format version 2), where that is at hand. */
  readonly encoded?: Buffer | undefined;
  /** Tells of each header in turn, where that takes less than making `headers`. */
  eachHeader?(tell: VisitHeader): void;
}

/**
 * A header's value lies in `bytes` from `start` to before `end`; `start` is -1 for Kafka's null.
 */
export type VisitHeader = (name: string, bytes: Buffer, start: number, end: number) => void;

export type WithHeaders = Pick<RecordContent, "headers" | "eachHeader">;

/** Tells of each header of a record in turn. */
export function eachHeader(record: WithHeaders, tell: VisitHeader): void {
  if (record.eachHeader !== undefined) {
    record.eachHeader(tell);
    return;
  }
  for (const [name, value] of record.headers) {
    if (value === null) tell(name, NO_BYTES, -1, -1);
    else tell(name, value, 0, value.length);
  }
}

const NO_BYTES = Buffer.alloc(0);

/** The parts that were left out of a record; null: not this one. */
export interface Cut {
  readonly keyBytes: number | null;
  readonly valueBytes: number | null;
  readonly headers: CutHeaders | null;
}

/** Of a record that was too large to be read whole. */
export interface Omitted {
  /** Of the whole record. */
  readonly bytes: number;
  readonly cut: Cut;
}

export interface CutHeaders {
  readonly count: number;
  readonly bytes: number;
  /** Its name, or the beginning of it. */
  readonly largest: string;
}

/**
 * Name the fields that a copy shall have: those of a fetched record are no properties of its own.
 */
export interface IncomingRecord extends RecordPlace, RecordContent {
  /** Milliseconds since the epoch: when the record was written, or what its producer said. */
  readonly timestampMs: number;
  /** Present: the record is larger than its topic takes, and is read in part (docs/topics.md#limits). */
  readonly omitted?: Omitted | undefined;
  /** Absent: the value has none, or no schema registry is configured. */
  readonly schema?: ValueSchema | undefined;
}

/** The record, with what is known of its value's schema. */
export function withSchema(record: IncomingRecord, schema: ValueSchema): IncomingRecord {
  return new WithSchema(record, schema);
}

/** Asks the record only for fields that it is asked for. */
class WithSchema implements IncomingRecord {
  readonly schema: ValueSchema;
  readonly offset: number;
  readonly #record: IncomingRecord;

  constructor(record: IncomingRecord, schema: ValueSchema) {
    this.schema = schema;
    this.offset = record.offset;
    this.#record = record;
  }

  get topic(): string {
    return this.#record.topic;
  }

  get partition(): number {
    return this.#record.partition;
  }

  get timestampMs(): number {
    return this.#record.timestampMs;
  }

  get key(): Buffer | null {
    return this.#record.key;
  }

  get value(): Buffer | null {
    return this.#record.value;
  }

  get headers(): RecordHeaders {
    return this.#record.headers;
  }

  get encoded(): Buffer | undefined {
    return this.#record.encoded;
  }

  get omitted(): Omitted | undefined {
    return this.#record.omitted;
  }

  eachHeader(tell: VisitHeader): void {
    eachHeader(this.#record, tell);
  }
}

/**
 * A record to write. Its timestamp is always the time of writing. Where it is `encoded`, that is
 * written, and its other fields need not be read.
 */
export interface OutgoingRecord extends RecordContent {
  readonly topic: string;
  /**
   * Headers that several records of one `send` share: pass the same array object and its bytes
   * are encoded once. Written before `headers`.
   */
  readonly sharedHeaders?: RecordHeaders;
  /** Absent: the key's partition, placed as Java does (murmur2; a null key goes round robin). */
  readonly partition?: number;
  /**
   * Present: it stands for several records of `partition`. `encoded` has them one behind the other,
   * as a batch does. Without a partition they are placed one by one.
   */
  readonly bundle?: Bundle | undefined;
  /** Present: it is compressed rather than not written where it is too large for its topic. */
  readonly compression?: Compression | undefined;
}

/** Filled in when the brokers have found the record too large. */
export interface Compression {
  bytes: Buffer | null;
}

/** Records that are sent as one. */
export interface Bundle {
  readonly count: number;
  /** The same records one by one. */
  records(): readonly OutgoingRecord[];
}

/** How many records it stands for. */
export function recordCount({ bundle }: OutgoingRecord): number {
  return bundle?.count ?? 1;
}

/** A record as it came, to be written to another topic. */
export function forwarded(record: RecordContent, topic: string): OutgoingRecord {
  return new Forwarded(record, topic);
}

/** Asks the record only for fields that it is asked for. */
class Forwarded implements OutgoingRecord {
  readonly topic: string;
  readonly encoded: Buffer | undefined;
  readonly #record: RecordContent;

  constructor(record: RecordContent, topic: string) {
    this.topic = topic;
    this.encoded = record.encoded;
    this.#record = record;
  }

  get key(): Buffer | null {
    return this.#record.key;
  }

  get value(): Buffer | null {
    return this.#record.value;
  }

  get headers(): RecordHeaders {
    return this.#record.headers;
  }
}

/** Bytes that a record holds in memory: key, value and headers. */
export function recordBytes(record: IncomingRecord): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0) + 64;
  for (const [name, value] of record.headers) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

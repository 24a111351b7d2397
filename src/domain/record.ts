/** Kafka records in the form that the stages use: whole values, without a client library's types. */

import type { ValueSchema } from "./known-schemas.ts";

/** Header names may repeat, and their order is kept. A null value is Kafka's null. */
export type RecordHeader = readonly [name: string, value: Buffer | null];
export type RecordHeaders = readonly RecordHeader[];

/** The position of a record. */
export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  /** Below 2^53. */
  readonly offset: number;
}

/** The content of a record. Each access to a field may decode the field again. */
export interface RecordContent {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Key, value and headers as Kafka encodes them (record format version 2), if available. */
  readonly encoded?: Buffer | undefined;
  /** Visits each header in order. Present if that is cheaper than creating `headers`. */
  eachHeader?(tell: VisitHeader): void;
}

/**
 * A header's value is in `bytes` from `start` up to, but not including, `end`; `start` is -1 for Kafka's null.
 */
export type VisitHeader = (name: string, bytes: Buffer, start: number, end: number) => void;

export type WithHeaders = Pick<RecordContent, "headers" | "eachHeader">;

/** Visits each header of a record in order. */
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

/** The parts that were omitted from a record; a field is null if that part was not omitted. */
export interface Cut {
  readonly keyBytes: number | null;
  readonly valueBytes: number | null;
  readonly headers: CutHeaders | null;
}

/** Describes a record that was too large to be read completely. */
export interface Omitted {
  /** The size of the whole record. */
  readonly bytes: number;
  readonly cut: Cut;
}

export interface CutHeaders {
  readonly count: number;
  readonly bytes: number;
  /** The name of the largest header, or the start of that name. */
  readonly largest: string;
}

/**
 * To copy a record, name each of these fields: the fields of a fetched record are not its own properties, so a spread
 * omits them.
 */
export interface IncomingRecord extends RecordPlace, RecordContent {
  /** Milliseconds since the epoch: when the record was written, or the time that its producer set. */
  readonly timestampMs: number;
  /** Present if the record is larger than its topic allows and was read in part (docs/topics.md#limits). */
  readonly omitted?: Omitted | undefined;
  /** Absent if the value has no schema, or no schema registry is configured. */
  readonly schema?: ValueSchema | undefined;
}

/** The record, together with what is known about its value's schema. */
export function withSchema(record: IncomingRecord, schema: ValueSchema): IncomingRecord {
  return new WithSchema(record, schema);
}

/** Reads a field of the record only when it is accessed. */
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
 * A record to write. Its timestamp is always the time of writing. If `encoded` is present, those bytes are written, and
 * the other fields need not be read.
 */
export interface OutgoingRecord extends RecordContent {
  readonly topic: string;
  /**
   * Headers that several records of one `send` share: pass the same array object, so that its bytes
   * are encoded once. Written before `headers`.
   */
  readonly sharedHeaders?: RecordHeaders;
  /** If absent, the key decides the partition as in Java's client (murmur2; round robin for a null key). */
  readonly partition?: number;
  /**
   * If present, this object represents several records of `partition`, and `encoded` contains them one after another,
   * as in a batch. Without `partition`, a partition is chosen for each record separately.
   */
  readonly bundle?: Bundle | undefined;
  /** If present and the record is too large for its topic, the record is compressed instead of rejected. */
  readonly compression?: Compression | undefined;
}

/** Filled in after the brokers have rejected the record as too large. */
export interface Compression {
  bytes: Buffer | null;
}

/** Records that are sent as one. */
export interface Bundle {
  readonly count: number;
  /** The same records one by one. */
  records(): readonly OutgoingRecord[];
}

/** The number of records that an outgoing record represents. */
export function recordCount({ bundle }: OutgoingRecord): number {
  return bundle?.count ?? 1;
}

/** An unchanged record, to be written to another topic. */
export function forwarded(record: RecordContent, topic: string): OutgoingRecord {
  return new Forwarded(record, topic);
}

/** Reads a field of the record only when it is accessed. */
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

/** The bytes of memory that a record takes: key, value and headers. */
export function recordBytes(record: IncomingRecord): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0) + 64;
  for (const [name, value] of record.headers) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

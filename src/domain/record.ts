/** Kafka records in the form that the stages use, without a client library's types. */

import type { ValueSchema } from "./known-schemas.ts";

/** Several headers may have the same name, and their order is kept. The value is null if it is null in Kafka. */
export type RecordHeader = readonly [name: string, value: Buffer | null];
export type RecordHeaders = readonly RecordHeader[];

export interface PartitionPlace {
  readonly topic: string;
  readonly partition: number;
}

export interface RecordPlace extends PartitionPlace {
  /** Below 2^53. */
  readonly offset: number;
}

/** A key for maps of partitions. */
export function partitionKey({ topic, partition }: PartitionPlace): string {
  return `${topic}/${partition}`;
}

/** Only the place, without a reference to the record. */
export function placeOf({ topic, partition, offset }: RecordPlace): RecordPlace {
  return { topic, partition, offset };
}

/** The content of a record. A field may be decoded again on each access. */
export interface RecordContent {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Key, value and headers as Kafka encodes them (record format version 2); absent if not available. */
  readonly encoded?: Buffer | undefined;
  /** Visits each header in order. Present only if visiting is cheaper than reading `headers`. */
  eachHeader?(tell: VisitHeader): void;
}

/**
 * The header's value is the part of `bytes` from `start` up to, but not including, `end`. If the value is null,
 * `start` is -1.
 */
export type VisitHeader = (name: string, bytes: Buffer, start: number, end: number) => void;

export type WithHeaders = Pick<RecordContent, "headers" | "eachHeader">;

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

/** Describes what was omitted from a record. A field is null if that part of the record was not omitted. */
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
  /** The name of the largest header, truncated if it is long. */
  readonly largest: string;
}

/**
 * To copy a record, copy each field by name. An object spread would omit the fields of a fetched record, because
 * they are not own properties.
 */
export interface IncomingRecord extends RecordPlace, RecordContent {
  /** Milliseconds since the epoch: the time at which the record was written, or the time that its producer set. */
  readonly timestampMs: number;
  /**
   * Present if only a part of the record was read, because the record is larger than its topic allows
   * (docs/topics.md#limits).
   */
  readonly omitted?: Omitted | undefined;
  /** Absent if the value has no schema, or no schema registry is configured. */
  readonly schema?: ValueSchema | undefined;
}

export function allHeaders({ headers, sharedHeaders = [] }: OutgoingRecord): RecordHeaders {
  return [...sharedHeaders, ...headers];
}

export function withSchema(record: IncomingRecord, schema: ValueSchema): IncomingRecord {
  return new ChangedRecord(record, record.offset, schema);
}

/** A record with another offset or schema. The other fields are read from the original record when they are needed. */
export class ChangedRecord implements IncomingRecord {
  readonly original: IncomingRecord;
  readonly offset: number;
  readonly schema: ValueSchema | undefined;

  constructor(original: IncomingRecord, offset: number, schema: ValueSchema | undefined) {
    this.original = original;
    this.offset = offset;
    this.schema = schema;
  }

  get topic(): string {
    return this.original.topic;
  }

  get partition(): number {
    return this.original.partition;
  }

  get timestampMs(): number {
    return this.original.timestampMs;
  }

  get key(): Buffer | null {
    return this.original.key;
  }

  get value(): Buffer | null {
    return this.original.value;
  }

  get headers(): RecordHeaders {
    return this.original.headers;
  }

  get encoded(): Buffer | undefined {
    return this.original.encoded;
  }

  get omitted(): Omitted | undefined {
    return this.original.omitted;
  }

  eachHeader(tell: VisitHeader): void {
    eachHeader(this.original, tell);
  }
}

/**
 * A record to write. Its timestamp is always the time of writing. If `encoded` is present, its bytes are written as
 * they are.
 */
export interface OutgoingRecord extends RecordContent {
  readonly topic: string;
  /**
   * Headers that several records of one `send` share. They are encoded only once if all of these records have the
   * same array object. Written before `headers`.
   */
  readonly sharedHeaders?: RecordHeaders | undefined;
  /**
   * If absent, the partition is chosen in the same way as by the Java client: by murmur2 of the key, or round robin
   * if the key is null.
   */
  readonly partition?: number;
  /** If present and the record is too large for its topic, the record is compressed instead of rejected. */
  readonly compression?: Compression | undefined;
}

/**
 * Creates a record to write. All records that are created here have the same fields in the same order, because V8
 * encodes records of one shape 10 % faster than records of two shapes (`bench audit`).
 *
 * @param sharedHeaders see `OutgoingRecord`.
 */
export function recordFor(
  topic: string,
  key: Buffer | null,
  value: Buffer | null,
  headers: RecordHeaders = [],
  sharedHeaders?: RecordHeaders,
): OutgoingRecord {
  return { topic, key, value, sharedHeaders, headers };
}

/** The fields are set after the brokers have rejected the record as too large. */
export interface Compression {
  bytes: Buffer | null;
}

/** Creates a record with the same content for another topic. */
export function forwarded(record: RecordContent, topic: string): OutgoingRecord {
  return new Forwarded(record, topic);
}

/** Its fields are read from the original record when they are needed. */
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

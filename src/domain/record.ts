/** Kafka records as the stages see them: whole values, no client library's types. */

/** Header names may repeat and their order is kept. A null value is Kafka's null. */
export type RecordHeader = readonly [name: string, value: Buffer | null];
export type RecordHeaders = readonly RecordHeader[];

export interface IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  /** Below 2^53. */
  readonly offset: number;
  /** Milliseconds since the epoch: when the record was written, or what its producer said. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** A record to write. Its timestamp is always the time of writing. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /**
   * Headers that several records of one `send` share: pass the same array object and its bytes
   * are encoded once. Written before `headers`.
   */
  readonly sharedHeaders?: RecordHeaders;
  readonly headers: RecordHeaders;
  /** Absent: the key's partition, placed as Java does (murmur2; a null key goes round robin). */
  readonly partition?: number;
}

/** Bytes that a record holds in memory: key, value and headers. */
export function recordBytes(record: IncomingRecord): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0) + 64;
  for (const [name, value] of record.headers) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

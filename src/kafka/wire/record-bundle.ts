/**
 * Records of one partition as a batch has them, written where they stay until they are sent: there
 * is no object for a record. For those who write very many.
 *
 *   record = length, attributes (0), timestamp delta (0), offset delta, key, value, no headers
 *
 * The lengths of a record and of its value are known last. Two bytes are left for each, as nearly
 * all need. The bytes behind it are moved where that is wrong.
 */

import { ByteText } from "../../domain/byte-text.ts";
import type { Compression, OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import { contentBytes, writeContent } from "./encode-records.ts";
import { RecordReader } from "./record-reader.ts";
import { varintBytes, writeVarint } from "./varint.ts";

const FIRST_BYTES = 16 * 1_024;
/** Left for a length. */
const LENGTH_BYTES = 2;
const VARINT_MAX_BYTES = 5;
/** Of a record before its key and behind its value. */
const OVERHEAD_MAX_BYTES = 4 * VARINT_MAX_BYTES + 3;

export class RecordBundle implements OutgoingRecord {
  readonly topic: string;
  readonly key = null;
  readonly value = null;
  readonly headers: RecordHeaders = [];
  readonly bundle = this;
  /** Absent: it is not known. Then its records are placed one by one. */
  partition?: number;
  count = 0;
  readonly #out = new ByteText(FIRST_BYTES);
  /** Of the record that is being written. */
  #recordAt = 0;
  #valueAt = 0;

  constructor(topic: string) {
    this.topic = topic;
  }

  /** Empties it, for records of this partition. Not while it is sent. */
  begin(partition: number | null): void {
    if (partition === null) delete this.partition;
    else this.partition = partition;
    this.count = 0;
    this.#out.length = 0;
    this.#recordAt = 0;
  }

  get length(): number {
    return this.#recordAt;
  }

  get encoded(): Buffer {
    return this.#out.bytes.subarray(0, this.#recordAt);
  }

  /**
   * Begins a record. Its value is what is added until `end`. One that is not ended is written over.
   *
   * @param key the first `keyBytes` of it.
   */
  open(key: Uint8Array, keyBytes: number): ByteText {
    const out = this.#out;
    out.length = this.#recordAt;
    out.room(keyBytes + OVERHEAD_MAX_BYTES);
    const { bytes } = out;
    let at = this.#recordAt + LENGTH_BYTES;
    bytes[at++] = 0;
    bytes[at++] = 0;
    at = writeVarint(bytes, at, this.count);
    at = writeVarint(bytes, at, keyBytes);
    for (let from = 0; from < keyBytes; from += 1) bytes[at++] = key[from] ?? 0;
    this.#valueAt = at;
    out.length = at + LENGTH_BYTES;
    return out;
  }

  /** Returns the bytes of the record. */
  end(): number {
    const out = this.#out;
    this.#putLength(this.#valueAt);
    out.room(1);
    out.bytes[out.length] = 0;
    out.length += 1;
    this.#putLength(this.#recordAt);
    const bytes = out.length - this.#recordAt;
    this.#recordAt = out.length;
    this.count += 1;
    return bytes;
  }

  /** The same records one by one. They are where the bundle's are: until it begins again. */
  records(): readonly OutgoingRecord[] {
    const { topic, encoded } = this;
    const reader = new RecordReader(encoded, 0);
    return Array.from({ length: this.count }, () => {
      reader.next();
      return new PackedRecord({ topic }, encoded.subarray(reader.start, reader.end));
    });
  }

  /** Of all that is behind the place that was left for it. */
  #putLength(at: number): void {
    const out = this.#out;
    const from = at + LENGTH_BYTES;
    const length = out.length - from;
    const size = varintBytes(length);
    if (size !== LENGTH_BYTES) {
      out.room(VARINT_MAX_BYTES);
      out.bytes.copyWithin(at + size, from, out.length);
      out.length += size - LENGTH_BYTES;
    }
    writeVarint(out.bytes, at, length);
  }
}

/** Larger records have blocks of their own. */
const BLOCK_BYTES = 64 * 1024;

let block = Buffer.alloc(0);
let used = 0;

/**
 * A record to write that waits for others: its bytes, copied to a block that holds such records
 * alone. As objects it would keep a whole fetch from being freed, and blocks of small buffers.
 * Collections of garbage would copy it.
 *
 * Sent like the record itself. Its fields are read from the bytes when they are asked for.
 */
export function packRecord(record: OutgoingRecord): OutgoingRecord {
  const shared = new Map();
  const bytes = contentBytes(record, shared);
  if (used + bytes > block.length) {
    block = Buffer.allocUnsafeSlow(Math.max(bytes, BLOCK_BYTES));
    used = 0;
  }
  const start = used;
  used = writeContent(block, start, record, shared);
  return new PackedRecord(record, block.subarray(start, used));
}

type Placed = Pick<OutgoingRecord, "topic" | "partition" | "compression">;

/** Its content, as bytes. Its fields are read from them when they are asked for. */
class PackedRecord implements OutgoingRecord {
  readonly topic: string;
  readonly partition?: number;
  readonly encoded: Buffer;
  readonly compression: Compression | undefined;

  constructor({ topic, partition, compression }: Placed, encoded: Buffer) {
    this.topic = topic;
    if (partition !== undefined) this.partition = partition;
    this.encoded = encoded;
    this.compression = compression;
  }

  get key(): Buffer | null {
    return new RecordReader(this.encoded, 0).keyAt(0);
  }

  get value(): Buffer | null {
    return new RecordReader(this.encoded, 0).valueAt(0);
  }

  get headers(): RecordHeaders {
    return new RecordReader(this.encoded, 0).headersAt(0);
  }
}

/**
 * Encodes records for one partition directly into the buffer in which they stay until they are sent, so that no object
 * is created per record. Used by callers that write very many records.
 *
 *   record = length, attributes (0), timestamp delta (0), offset delta, key, value, no headers
 *
 * The lengths of a record and of its value are known only at its end. Two bytes are reserved for each length, which is
 * the correct size for nearly all records. If a length needs more or fewer bytes, the bytes after it are moved.
 */

import { ByteText } from "../../domain/byte-text.ts";
import type { Compression, OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import { contentBytes, writeContent } from "./encode-records.ts";
import { RecordReader } from "./record-reader.ts";
import { varintBytes, writeVarint } from "./varint.ts";

const FIRST_BYTES = 16 * 1_024;
/** Bytes reserved for a length. */
const LENGTH_BYTES = 2;
const VARINT_MAX_BYTES = 5;
/** Bytes of a record before its key and after its value. */
const OVERHEAD_MAX_BYTES = 4 * VARINT_MAX_BYTES + 3;

export class RecordBundle implements OutgoingRecord {
  readonly topic: string;
  readonly key = null;
  readonly value = null;
  readonly headers: RecordHeaders = [];
  readonly bundle = this;
  /** Absent if the partition is unknown; a partition is then chosen for each record. */
  partition?: number;
  count = 0;
  readonly #out = new ByteText(FIRST_BYTES);
  /** Position of the record that is being written. */
  #recordAt = 0;
  #valueAt = 0;

  constructor(topic: string) {
    this.topic = topic;
  }

  /**
   * Clears the bundle and reuses it for records of this partition. Must not be called while the bundle is
   * being sent.
   */
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
   * Starts a record. Its value is the text that is added until `end`. If `end` is not called, the next record
   * overwrites it.
   *
   * @param key an array whose first `keyBytes` bytes are the key.
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

  /** Ends the record, and returns its number of bytes. */
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

  /** The same records one by one, as views of the bundle, which are valid until the bundle is cleared. */
  records(): readonly OutgoingRecord[] {
    const { topic, encoded } = this;
    const reader = new RecordReader(encoded, 0);
    return Array.from({ length: this.count }, () => {
      reader.next();
      return new PackedRecord({ topic }, encoded.subarray(reader.start, reader.end));
    });
  }

  /** Writes the length of everything after the bytes that are reserved for this length. */
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

/** Records that do not fit in a block of this size have their own blocks. */
const BLOCK_BYTES = 64 * 1024;

let block = Buffer.alloc(0);
let used = 0;

/**
 * The bytes of a record that waits to be written, copied to a block that contains only such records. The original
 * object would keep a whole fetch and blocks of small buffers in memory, and the garbage collector would copy it.
 *
 * The result can be sent instead of the record. The fields of the result are read from the bytes on demand.
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

/** A record's content as bytes, from which its fields are read on demand. */
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

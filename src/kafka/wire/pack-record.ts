/** Copies records that wait to be written to blocks of bytes. */

import type { Compression, OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import { contentBytes, writeContent } from "./encode-records.ts";
import { RecordReader } from "./record-reader.ts";

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

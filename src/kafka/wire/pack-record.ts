/**
 * A record to write that waits for others: its bytes, copied to a block that holds such records
 * alone. As objects it would keep a whole fetch from being freed, and blocks of small buffers.
 * Collections of garbage would copy it.
 */

import type { Compression, OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import { contentBytes, writeContent } from "./encode-records.ts";
import { RecordReader } from "./record-reader.ts";

/** Larger records have blocks of their own. */
const BLOCK_BYTES = 64 * 1024;

let block = Buffer.alloc(0);
let used = 0;

/** Sent like the record itself. Its fields are read from the bytes when they are asked for. */
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
export class PackedRecord implements OutgoingRecord {
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

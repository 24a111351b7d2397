/** A record as the compressed records of a batch that holds nothing else. */

import { zstdCompressSync } from "node:zlib";

import { measureRecords, type OutgoingMessage, writeRecords } from "./encode-records.ts";

/** Kafka's number of zstd, in a batch's attributes. */
export const ZSTD = 4;

export function compressRecord(message: OutgoingMessage): Buffer {
  const shared = new Map();
  // Its time is its batch's, which is written each time.
  const measured = measureRecords([message], 0, shared);
  const records = Buffer.allocUnsafe(measured.totalBytes);
  writeRecords(records, 0, measured, shared);
  return zstdCompressSync(records);
}

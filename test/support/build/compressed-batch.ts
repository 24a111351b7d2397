/** Compressed record batches like those of other producers, because Switchyard does not compress batches. */

import { promisify } from "node:util";
import { gzip, zstdCompress } from "node:zlib";
import { crc32c } from "@node-rs/crc32";
import { compressFrame } from "lz4-napi";
import { compress as snappyCompress } from "snappy";

export const RECORDS_AT = 61;

export const COMPRESSIONS: Readonly<Record<number, (records: Buffer) => Promise<Buffer>>> = {
  1: promisify<Buffer, Buffer>(gzip),
  2: (records) => snappyCompress(records),
  3: (records) => compressFrame(records),
  4: promisify<Buffer, Buffer>(zstdCompress),
};

/** The same batch with compressed records; 0 leaves the records unchanged. */
export async function compressed(batch: Buffer, compression: number): Promise<Buffer> {
  if (compression === 0) return batch;
  const compress = COMPRESSIONS[compression];
  if (compress === undefined) throw new Error(`there is no compression ${compression}`);
  return withRecords(batch, await compress(batch.subarray(RECORDS_AT)), compression);
}

/** The header of a batch, followed by these records. Length, attributes and checksum match the records. */
export function withRecords(batch: Buffer, records: Buffer, compression: number): Buffer {
  const made = Buffer.concat([batch.subarray(0, RECORDS_AT), records]);
  made.writeInt32BE(made.length - 12, 8);
  made.writeInt16BE((made.readInt16BE(21) & ~7) | compression, 21);
  made.writeUInt32BE(crc32c(made.subarray(21)), 17);
  return made;
}

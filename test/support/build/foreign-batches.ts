// Record batches that brokers accept and Java's consumer reads, although no client library writes them.

import { crc32, gzipSync } from "node:zlib";
import { compressFrameSync } from "lz4-napi";
import { compressSync } from "snappy";

import { varint } from "../../../src/kafka/wire/kept-records.ts";
import { RECORDS_AT, withRecords } from "./compressed-batch.ts";
import { altered, encodeBatch, withDeltas } from "./record-batches.ts";

const OTHER_BYTES = Buffer.alloc(10, 9);

/** By what is odd about it: a batch of one record with this value. */
export async function foreignBatches(value: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const plain = altered(await encodeBatch([{ key: null, value, headers: [] }]), (copy) => {
    for (const timeAt of [27, 35]) copy.writeBigInt64BE(BigInt(Date.now()), timeAt);
  });
  const records = plain.subarray(RECORDS_AT);
  const lz4 = compressFrameSync(records, { contentChecksum: true });
  const gzip = gzipSync(records);
  const of = (type: number, ...parts: readonly Buffer[]) =>
    withRecords(plain, Buffer.concat(parts), type);
  return new Map([
    ["an offset delta of 1,000,000", withDeltas(plain, [1_000_000])],
    ["an offset delta of -7", withDeltas(plain, [-7])],
    ["a key of -2 bytes", of(0, withLengths(value, -2, -1))],
    ["a header value of -5 bytes", of(0, withLengths(value, -1, -5))],
    ["other bytes after gzip", of(1, gzip, OTHER_BYTES)],
    ["other bytes after gzip with a header of all fields", of(1, allFields(gzip), OTHER_BYTES)],
    ["other bytes after xerial's snappy", of(2, xerial(records), Buffer.alloc(2))],
    ["other bytes after LZ4", of(3, lz4, OTHER_BYTES)],
    ["half an LZ4 frame after LZ4", of(3, lz4, lz4.subarray(0, lz4.length / 2))],
    ["another checksum of LZ4's content", of(3, lz4.subarray(0, -4), Buffer.alloc(4))],
    ["an LZ4 content size of 99", of(3, lz4WithSize99(records))],
  ]);
}

/** A record without bytes for its key and for the value of its only header, and with these lengths instead. */
export function withLengths(value: Buffer, key: number, headerValue: number): Buffer {
  const [zero, one] = [Buffer.alloc(1), varint(1)];
  const fields = [zero, zero, zero, varint(key), varint(value.length), value];
  const content = Buffer.concat([...fields, one, one, Buffer.from("h"), varint(headerValue)]);
  return Buffer.concat([varint(content.length), content]);
}

/** Adds an extra field, a file name, a comment and a checksum of the header. */
function allFields(gzip: Buffer): Buffer {
  const head = Buffer.concat([gzip.subarray(0, 10), Buffer.from("\x02\0exname\0comment\0")]);
  head.writeUInt8(0x1e, 3);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc32(head) & 0xffff);
  return Buffer.concat([head, checksum, gzip.subarray(10)]);
}

function xerial(records: Buffer): Buffer {
  const block = compressSync(records);
  const head = Buffer.from("82534e4150505900000000010000000100000000", "hex");
  head.writeInt32BE(block.length, 16);
  return Buffer.concat([head, block]);
}

/** A frame with one uncompressed block. */
function lz4WithSize99(records: Buffer): Buffer {
  const head = Buffer.from("04224d18684063000000000000003800000000", "hex");
  head.writeUInt32LE((0x80000000 | records.length) >>> 0, head.length - 4);
  return Buffer.concat([head, records, Buffer.alloc(4)]);
}

/**
 * The compressions of record batches. kafkajs has gzip alone and stops the consumer for good at
 * any other; here are all that Kafka knows.
 *
 *   type     who writes it how
 *   gzip     one gzip stream
 *   snappy   Java: xerial framing (a header, then blocks with their length); librdkafka: one raw block
 *   lz4      LZ4 frames, blocks independent of each other
 *   zstd     zstd frames, with or without the content's size
 *
 * A batch of the size that topics take can hold a thousand times as much: what is inflated is
 * bounded, so that one batch cannot take the process's memory. Kafka itself knows no such bound:
 * `message.max.bytes` and Java's `batch.size` count compressed bytes. Above ours a consumer stops for
 * good, so it is far from what anybody writes: LZ4's highest ratio for a batch of a mebibyte.
 */

import { promisify } from "node:util";
import { gunzip, gzip, zstdCompress, zstdDecompress } from "node:zlib";
import { compressFrame, decompressFrame } from "lz4-napi";
import { uncompress } from "snappy";

import type { Codec } from "./encode-produce.ts";

/** Most bytes of one batch's records after decompression. */
export const INFLATED_BYTES_MAX = 256 * 1024 * 1024;

interface Bound {
  readonly maxOutputLength: number;
}

const gzipped = promisify(gzip);
const gunzipped = promisify<Buffer, Bound, Buffer>(gunzip);
const zstdCompressed = promisify<Buffer, Buffer>(zstdCompress);
const zstdDecompressed = promisify<Buffer, Bound, Buffer>(zstdDecompress);

function gzipCodec(bound: Bound): Codec {
  return {
    compress: async ({ buffer }) => gzipped(buffer),
    decompress: (buffer) => gunzipped(buffer, bound),
  };
}

function snappyCodec(bound: Bound): Codec {
  return {
    compress: () => Promise.reject(new Error("Snappy is read but not written; use lz4 or zstd.")),
    decompress: async (buffer) => {
      const blocks = xerialBlocks(buffer) ?? [buffer];
      let bytes = 0;
      for (const block of blocks) bytes += snappyBytes(block);
      check(bytes, bound);
      return Buffer.concat(await Promise.all(blocks.map(inflateSnappy)));
    },
  };
}

function lz4Codec(bound: Bound): Codec {
  return {
    compress: ({ buffer }) => compressFrame(buffer),
    decompress: async (buffer) => {
      // 255 is LZ4's highest ratio; only what could exceed the bound is looked at more closely.
      if (buffer.length * 255 > bound.maxOutputLength) check(lz4BytesMax(buffer), bound);
      return decompressFrame(buffer);
    },
  };
}

function zstdCodec(bound: Bound): Codec {
  return {
    compress: ({ buffer }) => zstdCompressed(buffer),
    decompress: (buffer) => zstdDecompressed(buffer, bound),
  };
}

/** Codecs by Kafka's numbers of the compressions, which are kafkajs' as well. */
export function createCodecs(inflatedBytesMax: number) {
  const bound: Bound = { maxOutputLength: inflatedBytesMax };
  return { 1: gzipCodec(bound), 2: snappyCodec(bound), 3: lz4Codec(bound), 4: zstdCodec(bound) };
}

export const CODECS = createCodecs(INFLATED_BYTES_MAX);

/** @param registry kafkajs' `CompressionCodecs` */
export function registerCodecs(registry: Record<number, () => unknown>): void {
  for (const [type, codec] of Object.entries(CODECS)) registry[Number(type)] = () => codec;
}

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
/** The magic and two versions. */
const XERIAL_HEADER_BYTES = 16;

/** The raw blocks of xerial's framing, or null when it is something else. */
function xerialBlocks(buffer: Buffer): Buffer[] | null {
  if (!buffer.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return null;
  const blocks: Buffer[] = [];
  for (let at = XERIAL_HEADER_BYTES; at < buffer.length; ) {
    const start = at + 4;
    const bytes = buffer.readInt32BE(at);
    if (bytes < 0 || start + bytes > buffer.length) throw new Error("a snappy block is cut off");
    blocks.push(buffer.subarray(start, start + bytes));
    at = start + bytes;
  }
  return blocks;
}

async function inflateSnappy(block: Buffer): Promise<Buffer> {
  const inflated = await uncompress(block, { asBuffer: true });
  return typeof inflated === "string" ? Buffer.from(inflated) : inflated;
}

/** A raw snappy block begins with its uncompressed length, an unsigned varint. */
function snappyBytes(block: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = block[at] ?? 0;
    bytes += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return bytes;
}

/** An upper bound from an LZ4 frame's block sizes; its header names the largest block. */
function lz4BytesMax(frame: Buffer): number {
  const flags = frame.readUInt8(4);
  const blockBytesMax = 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 0x07));
  const checksumBytes = (flags & 0x10) === 0 ? 0 : 4;
  let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  let blocks = 0;
  while (at + 4 <= frame.length) {
    const bytes = frame.readUInt32LE(at) & 0x7fffffff;
    if (bytes === 0) break;
    blocks += 1;
    at += 4 + bytes + checksumBytes;
  }
  return blocks * blockBytesMax;
}

function check(bytes: number, { maxOutputLength }: Bound): void {
  if (bytes <= maxOutputLength) return;
  throw new Error(`more than ${maxOutputLength} bytes after decompression`);
}

/**
 * Inflates Snappy in pieces: raw blocks, and xerial's framing of them.
 * (https://github.com/google/snappy/blob/main/format_description.txt)
 */

import { History } from "./history.ts";
import { copied, repeated } from "./lz4-pieces.ts";

/**
 * All writers of Snappy compress 64 KiB at a time. The format lets a copy reach further back: that is
 * an error here.
 */
const DISTANCE_MAX = 1024 * 1024;

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
/** The magic and two versions. */
const XERIAL_HEADER_BYTES = 16;

/** The raw blocks of xerial's framing, or null when it is something else. */
export function xerialBlocks(buffer: Buffer): Buffer[] | null {
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

/** A raw snappy block begins with its uncompressed length, an unsigned varint. */
export function snappyBytes(block: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = block[at] ?? 0;
    bytes += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return bytes;
}

export function* snappyPieces(buffer: Buffer): Generator<Buffer, void, undefined> {
  for (const block of xerialBlocks(buffer) ?? [buffer]) {
    const history = new History(DISTANCE_MAX);
    yield* inflated(block, history);
    yield history.take();
  }
}

function* inflated(block: Buffer, history: History): Generator<Buffer, void, undefined> {
  let at = 0;
  while (block.readUInt8(at) >= 0x80) at += 1;
  at += 1;
  while (at < block.length) {
    const tag = block.readUInt8(at);
    at += 1;
    const kind = tag & 0x03;
    if (kind === 0) {
      const short = tag >> 2;
      const lengthBytes = Math.max(0, short - 59);
      const length = 1 + (lengthBytes === 0 ? short : block.readUIntLE(at, lengthBytes));
      at += lengthBytes;
      if (at + length > block.length) throw new Error("a snappy literal is cut off");
      yield* copied(block, at, length, history);
      at += length;
    } else if (kind === 1) {
      const distance = ((tag >> 5) << 8) | block.readUInt8(at);
      at += 1;
      yield* repeated(history, distance, 4 + ((tag >> 2) & 0x07));
    } else {
      const bytes = kind === 2 ? 2 : 4;
      const distance = block.readUIntLE(at, bytes);
      at += bytes;
      yield* repeated(history, distance, 1 + (tag >> 2));
    }
  }
}

/**
 * Inflates LZ4 frames and Snappy in pieces. Both formats contain instructions such as "repeat `length` bytes from
 * `distance` bytes ago", so the bytes that were written last are kept (`History`).
 */

import { lz4Frames } from "./codec-frames.ts";

const LZ4_WINDOW_BYTES = 64 * 1024;
const LZ4_MATCH_MIN_BYTES = 4;

/**
 * (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md, lz4_Block_format.md)
 *
 * The frames' checksums are not checked, because the batch has its own.
 */
export function* lz4Pieces(buffer: Buffer): Generator<Buffer, void, undefined> {
  // Blocks and frames that are independent of each other never refer to bytes before their start.
  const history = new History(LZ4_WINDOW_BYTES);
  for (const { blocks } of lz4Frames(buffer)) {
    for (const { bytes, isCompressed } of blocks) {
      if (isCompressed) yield* lz4Block(bytes, history);
      else yield* copied(bytes, 0, bytes.length, history);
    }
    yield history.take();
  }
}

function* lz4Block(block: Buffer, history: History): Generator<Buffer, void, undefined> {
  let at = 0;
  const more = (length: number): number => {
    let whole = length;
    if (length < 15) return whole;
    for (let byte = 255; byte === 255; ) {
      byte = block.readUInt8(at);
      at += 1;
      whole += byte;
    }
    return whole;
  };
  while (at < block.length) {
    const token = block.readUInt8(at);
    at += 1;
    const literals = more(token >> 4);
    if (at + literals > block.length) throw new Error("LZ4 literals are cut off");
    yield* copied(block, at, literals, history);
    at += literals;
    // The last sequence contains only literals.
    if (at === block.length) return;
    const distance = block.readUInt16LE(at);
    at += 2;
    yield* repeated(history, distance, more(token & 0x0f) + LZ4_MATCH_MIN_BYTES);
  }
}

function* copied(
  source: Buffer,
  start: number,
  length: number,
  history: History,
): Generator<Buffer, void, undefined> {
  for (let done = 0; done < length; ) {
    if (history.isFull) yield history.take();
    done += history.literal(source, start + done, length - done);
  }
}

function* repeated(
  history: History,
  distance: number,
  length: number,
): Generator<Buffer, void, undefined> {
  for (let done = 0; done < length; ) {
    if (history.isFull) yield history.take();
    done += history.repeat(distance, length - done);
  }
}

const PIECE_BYTES = 256 * 1024;

/** A decompressor's output, in pieces. Keeps as many of the last bytes as later instructions may repeat. */
class History {
  readonly #bytes: Buffer;
  readonly #keepBytes: number;
  #end = 0;
  /** Position of the first byte that has not been returned yet. */
  #given = 0;

  /** @param keepBytes the largest distance that a repetition may have. */
  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
    this.#bytes = Buffer.allocUnsafeSlow(keepBytes + 2 * PIECE_BYTES);
  }

  get isFull(): boolean {
    return this.#end - this.#given >= PIECE_BYTES;
  }

  /** A copy of the output since the last call. */
  take(): Buffer {
    const piece = Buffer.from(this.#bytes.subarray(this.#given, this.#end));
    this.#given = this.#end;
    const from = Math.max(0, this.#end - this.#keepBytes);
    if (from > 0) this.#bytes.copyWithin(0, from, this.#end);
    this.#end -= from;
    this.#given = this.#end;
    return piece;
  }

  /** Writes as many of the source's bytes as currently fit, and returns how many it wrote. */
  literal(source: Buffer, start: number, length: number): number {
    const bytes = Math.min(length, this.#room);
    this.#bytes.set(source.subarray(start, start + bytes), this.#end);
    this.#end += bytes;
    return bytes;
  }

  /** Repeats as many bytes as currently fit, and returns how many it wrote. */
  repeat(distance: number, length: number): number {
    if (distance <= 0 || distance > this.#end) throw new Error(`a distance of ${distance}`);
    const bytes = Math.min(length, this.#room);
    const end = this.#end + bytes;
    if (distance === 1) {
      this.#bytes.fill(this.#bytes[this.#end - 1] ?? 0, this.#end, end);
    } else if (distance >= bytes) {
      this.#bytes.copyWithin(this.#end, this.#end - distance, end - distance);
    } else {
      // The repeated bytes may include bytes that this loop has just written.
      for (let at = this.#end; at < end; at += 1) this.#bytes[at] = this.#bytes[at - distance] ?? 0;
    }
    this.#end = end;
    return bytes;
  }

  get #room(): number {
    return Math.min(PIECE_BYTES, this.#bytes.length - this.#end);
  }
}

/**
 * The most bytes of a block that are kept. Writers of Snappy compress 64 KiB at a time, but any distance within a block is
 * valid. Snappy compresses to a 21st at most, so this is enough for any batch up to 1.5 MiB.
 */
const SNAPPY_DISTANCE_MAX = 32 * 1024 * 1024;

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
/** The magic and two versions. */
const XERIAL_HEADER_BYTES = 16;

/**
 * The raw blocks in xerial's framing, or null if the buffer does not have this framing. As in Java, the framing ends
 * where fewer bytes are left than a length has.
 */
export function xerialBlocks(buffer: Buffer): Buffer[] | null {
  const hasHeader = (at: number) =>
    XERIAL_MAGIC.compare(buffer, at, at + XERIAL_MAGIC.length) === 0;
  if (buffer.length < XERIAL_HEADER_BYTES || !hasHeader(0)) return null;
  const blocks: Buffer[] = [];
  for (let at = 0; at + 4 <= buffer.length; ) {
    if (buffer.length - at >= XERIAL_HEADER_BYTES && hasHeader(at)) {
      at += XERIAL_HEADER_BYTES;
      continue;
    }
    const start = at + 4;
    const bytes = buffer.readInt32BE(at);
    if (bytes < 0 || start + bytes > buffer.length) throw new Error("a snappy block is cut off");
    blocks.push(buffer.subarray(start, start + bytes));
    at = start + bytes;
  }
  return blocks;
}

/** A raw snappy block starts with its uncompressed length, an unsigned varint. */
export function snappyBytes(block: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = block[at] ?? 0;
    bytes += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return bytes;
}

/**
 * Inflates raw blocks, and blocks in xerial's framing.
 * (https://github.com/google/snappy/blob/main/format_description.txt)
 */
export function* snappyPieces(buffer: Buffer): Generator<Buffer, void, undefined> {
  for (const block of xerialBlocks(buffer) ?? [buffer]) {
    const history = new History(Math.min(snappyBytes(block), SNAPPY_DISTANCE_MAX));
    yield* snappyBlock(block, history);
    yield history.take();
  }
}

function* snappyBlock(block: Buffer, history: History): Generator<Buffer, void, undefined> {
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

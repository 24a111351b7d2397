/**
 * Inflates an LZ4 frame in pieces.
 * (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md, lz4_Block_format.md)
 *
 * Checksums of the frame are not looked at: the batch has one of its own.
 */

import { History } from "./history.ts";

const MAGIC = 0x184d2204;
const WINDOW_BYTES = 64 * 1024;
const MATCH_MIN_BYTES = 4;
const NOT_COMPRESSED = 0x80000000;

export function* lz4Pieces(frame: Buffer): Generator<Buffer, void, undefined> {
  if (frame.readUInt32LE(0) !== MAGIC) throw new Error("no LZ4 frame");
  const flags = frame.readUInt8(4);
  const checksumBytes = (flags & 0x10) === 0 ? 0 : 4;
  // Blocks that are independent of each other never reach behind their beginning.
  const history = new History(WINDOW_BYTES);
  let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  for (;;) {
    const size = frame.readUInt32LE(at);
    at += 4;
    if (size === 0) break;
    const bytes = size % NOT_COMPRESSED;
    if (at + bytes > frame.length) throw new Error("an LZ4 block is cut off");
    const block = frame.subarray(at, at + bytes);
    if (size >= NOT_COMPRESSED) yield* copied(block, 0, bytes, history);
    else yield* inflated(block, history);
    at += bytes + checksumBytes;
  }
  yield history.take();
}

function* inflated(block: Buffer, history: History): Generator<Buffer, void, undefined> {
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
    // The last sequence has literals alone.
    if (at === block.length) return;
    const distance = block.readUInt16LE(at);
    at += 2;
    yield* repeated(history, distance, more(token & 0x0f) + MATCH_MIN_BYTES);
  }
}

export function* copied(
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

export function* repeated(
  history: History,
  distance: number,
  length: number,
): Generator<Buffer, void, undefined> {
  for (let done = 0; done < length; ) {
    if (history.isFull) yield history.take();
    done += history.repeat(distance, length - done);
  }
}

/**
 * Splits compressed bytes into LZ4 or zstd frames, from their headers and block lengths, without inflating them.
 *
 *   at the next position                          then
 *   a frame                                       it is returned
 *   a skippable frame (RFC 8878, section 3.1.2)   it is omitted
 *   a frame that is cut off, or anything else     an error
 */

const LZ4_MAGIC = 0x184d2204;
const ZSTD_MAGIC = 0xfd2fb528;
/** The lowest four bits of a skippable frame's magic number may have any value. */
const SKIPPABLE_MAGIC = 0x184d2a5;
/** By the two highest bits of the frame header descriptor: the bytes of the content's size. */
const ZSTD_SIZE_BYTES = [0, 2, 4, 8] as const;
/** By its two lowest bits: the bytes of the dictionary's ID. */
const ZSTD_DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const ZSTD_RLE = 1;

export function lz4Frames(buffer: Buffer): Buffer[] {
  return framesOf(buffer, "an LZ4", LZ4_MAGIC, (frame) => lz4Blocks(frame).end);
}

export function zstdFrames(buffer: Buffer): Buffer[] {
  return framesOf(buffer, "a zstd", ZSTD_MAGIC, zstdBytes);
}

function framesOf(
  buffer: Buffer,
  name: string,
  magic: number,
  bytesOf: (frame: Buffer) => number,
): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < buffer.length; ) {
    const rest = buffer.subarray(at);
    if (rest.length < 8) throw new Error(`${name} frame is cut off`);
    const found = rest.readUInt32LE(0);
    const isSkippable = found >>> 4 === SKIPPABLE_MAGIC;
    if (!isSkippable && found !== magic)
      throw new Error(`${name} frame was expected at byte ${at}`);
    const bytes = isSkippable ? 8 + rest.readUInt32LE(4) : bytesOf(rest);
    if (bytes > rest.length) throw new Error(`${name} frame is cut off`);
    if (!isSkippable) frames.push(rest.subarray(0, bytes));
    at += bytes;
  }
  return frames;
}

/** (RFC 8878, section 3.1.1) Returns more than the length of the bytes if the frame is cut off. */
function zstdBytes(frame: Buffer): number {
  const flags = frame.readUInt8(4);
  const isSingleSegment = (flags & 0x20) !== 0;
  const sizeBytes = ZSTD_SIZE_BYTES[(flags >> 6) as 0 | 1 | 2 | 3] || (isSingleSegment ? 1 : 0);
  const dictionaryBytes = ZSTD_DICTIONARY_BYTES[(flags & 0x03) as 0 | 1 | 2 | 3];
  let at = 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
  for (let isLast = false; !isLast && at + 3 <= frame.length; ) {
    const block = frame.readUIntLE(at, 3);
    isLast = (block & 0x01) !== 0;
    at += 3 + (((block >> 1) & 0x03) === ZSTD_RLE ? 1 : block >> 3);
    if (isLast) return at + ((flags & 0x04) === 0 ? 0 : 4);
  }
  return frame.length + 1;
}

/** (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md) A frame may end without its end mark. */
function lz4Blocks(frame: Buffer): { readonly blocks: number; readonly end: number } {
  const flags = frame.readUInt8(4);
  const checksumBytes = (flags & 0x10) === 0 ? 0 : 4;
  let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  for (let blocks = 0; ; blocks += 1) {
    if (at + 4 > frame.length) return { blocks, end: at };
    const bytes = frame.readUInt32LE(at) & 0x7fffffff;
    if (bytes === 0) return { blocks, end: at + 4 + ((flags & 0x04) === 0 ? 0 : 4) };
    at += 4 + bytes + checksumBytes;
  }
}

/** An upper bound for the inflated bytes of a frame, from its blocks and the largest block size in its header. */
export function lz4BytesMax(frame: Buffer): number {
  return lz4Blocks(frame).blocks * 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 0x07));
}

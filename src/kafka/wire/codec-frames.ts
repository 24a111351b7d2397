/**
 * Splits compressed bytes into LZ4 or zstd frames, from their headers and block lengths, without inflating them.
 *
 *   at the next position                          then
 *   a frame                                       it is returned
 *   a skippable frame (RFC 8878, section 3.1.2)   it is omitted
 *   a frame that is cut off, or anything else     an error
 */

const LZ4_MAGIC = 0x184d2204;
const LZ4_NOT_COMPRESSED = 0x80000000;
const ZSTD_MAGIC = 0xfd2fb528;
/** The lowest four bits of a skippable frame's magic number may have any value. */
const SKIPPABLE_MAGIC = 0x184d2a5;
const ZSTD_RLE = 1;

export interface Lz4Frame {
  readonly frame: Buffer;
  readonly blocks: readonly { readonly bytes: Buffer; readonly isCompressed: boolean }[];
  /** An upper bound for the inflated bytes, from the largest block size in the header. */
  readonly inflatedMaxBytes: number;
}

/** (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md) A frame may end without its end mark. */
export function lz4Frames(buffer: Buffer): readonly Lz4Frame[] {
  return framesOf(buffer, LZ4_MAGIC, lz4Bytes).map((frame) => {
    const blocks: Lz4Frame["blocks"][number][] = [];
    lz4Bytes(frame, (bytes, isCompressed) => blocks.push({ bytes, isCompressed }));
    const inflatedMaxBytes = blocks.length * 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 0x07));
    return { frame, blocks, inflatedMaxBytes };
  });
}

export function zstdFrames(buffer: Buffer): readonly Buffer[] {
  return framesOf(buffer, ZSTD_MAGIC, zstdBytes);
}

/** @param bytesOf returns more than there are if the frame is cut off. */
function framesOf(buffer: Buffer, magic: number, bytesOf: (frame: Buffer) => number): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < buffer.length; ) {
    const rest = buffer.subarray(at);
    const found = rest.length < 8 ? magic : rest.readUInt32LE(0);
    const isSkippable = found >>> 4 === SKIPPABLE_MAGIC;
    if (!isSkippable && found !== magic) throw new Error(`a frame was expected at byte ${at}`);
    const bytes = isSkippable ? 8 + rest.readUInt32LE(4) : bytesOf(rest);
    if (bytes > rest.length || rest.length < 8) throw new Error("a frame is cut off");
    if (!isSkippable) frames.push(rest.subarray(0, bytes));
    at += bytes;
  }
  return frames;
}

/** (RFC 8878, section 3.1.1) */
function zstdBytes(frame: Buffer): number {
  const flags = frame[4] ?? 0;
  const isSingleSegment = (flags & 0x20) !== 0;
  const sizeBytes = flags < 0x40 ? Number(isSingleSegment) : 2 ** (flags >> 6);
  const dictionaryBytes = (2 ** (flags & 0x03)) >> 1;
  let at = 5 + Number(!isSingleSegment) + dictionaryBytes + sizeBytes;
  while (at + 3 <= frame.length) {
    const block = frame.readUIntLE(at, 3);
    at += 3 + (((block >> 1) & 0x03) === ZSTD_RLE ? 1 : block >> 3);
    if ((block & 0x01) !== 0) return at + ((flags & 0x04) === 0 ? 0 : 4);
  }
  return frame.length + 1;
}

function lz4Bytes(frame: Buffer, block?: (bytes: Buffer, isCompressed: boolean) => void): number {
  const flags = frame[4] ?? 0;
  let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  while (at + 4 <= frame.length) {
    const size = frame.readUInt32LE(at);
    at += 4;
    if (size === 0) return at + ((flags & 0x04) === 0 ? 0 : 4);
    const end = at + (size % LZ4_NOT_COMPRESSED);
    block?.(frame.subarray(at, end), size < LZ4_NOT_COMPRESSED);
    at = end + ((flags & 0x10) === 0 ? 0 : 4);
  }
  return at;
}

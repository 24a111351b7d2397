/**
 * Splits compressed bytes into LZ4 or zstd frames, from their headers and block lengths, without inflating them.
 *
 *   at the next position                          then
 *   a frame                                       it is returned
 *   a skippable frame (RFC 8878, section 3.1.2)   it is omitted
 *   a frame that is cut off, or anything else     an error, after the frames before it
 */

const LZ4_MAGIC = 0x184d2204;
const LZ4_NOT_COMPRESSED = 0x80000000;
const ZSTD_MAGIC = 0xfd2fb528;
/** The lowest four bits of a skippable frame's magic number may have any value. */
const SKIPPABLE_MAGIC = 0x184d2a5;
const ZSTD_RLE = 1;
const GZIP_MAGIC = 0x1f8b;

export interface Lz4Frame {
  readonly frame: Buffer;
  readonly blocks: readonly { readonly bytes: Buffer; readonly isCompressed: boolean }[];
  /** An upper bound for the inflated bytes, from the largest block size in the header. */
  readonly inflatedMaxBytes: number;
}

/** (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md) A frame may end without its end mark. */
export function* lz4Frames(buffer: Buffer): Generator<Lz4Frame, void, undefined> {
  for (const frame of framesOf(buffer, LZ4_MAGIC, lz4Bytes)) {
    const blocks: Lz4Frame["blocks"][number][] = [];
    lz4Bytes(frame, (bytes, isCompressed) => blocks.push({ bytes, isCompressed }));
    const inflatedMaxBytes = blocks.length * 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 0x07));
    yield { frame, blocks, inflatedMaxBytes };
  }
}

export function zstdFrames(buffer: Buffer): Iterable<Buffer> {
  return framesOf(buffer, ZSTD_MAGIC, zstdBytes);
}

/** (RFC 1952, section 2.3) @returns the number of bytes before the deflated data of the member that starts here. */
export function gzipHeaderBytes(member: Buffer): number {
  if (member.length < 10 || member.readUInt16BE(0) !== GZIP_MAGIC)
    throw new Error("a gzip member was expected");
  const flags = member.readUInt8(3);
  let at = 10;
  if ((flags & 0x04) !== 0) at += 2 + member.readUInt16LE(at);
  // A file name, and a comment.
  for (const flag of [0x08, 0x10])
    if ((flags & flag) !== 0) at = member.indexOf(0, at) + 1 || member.length;
  return at + ((flags & 0x02) === 0 ? 0 : 2);
}

/** @param bytesOf returns more than there are if the frame is cut off. */
function* framesOf(
  buffer: Buffer,
  magic: number,
  bytesOf: (frame: Buffer) => number,
): Generator<Buffer, void, undefined> {
  for (let at = 0; at < buffer.length; ) {
    const rest = buffer.subarray(at);
    const found = rest.length < 8 ? magic : rest.readUInt32LE(0);
    const isSkippable = found >>> 4 === SKIPPABLE_MAGIC;
    if (!isSkippable && found !== magic) throw new Error(`a frame was expected at byte ${at}`);
    const bytes = isSkippable ? 8 + rest.readUInt32LE(4) : bytesOf(rest);
    if (bytes > rest.length || rest.length < 8) throw new Error("a frame is cut off");
    if (!isSkippable) yield rest.subarray(0, bytes);
    at += bytes;
  }
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

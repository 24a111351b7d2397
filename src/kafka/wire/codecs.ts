/**
 * Inflates record batches with any of Kafka's compression types. Switchyard itself compresses a record only if the
 * record would otherwise be too large (docs/decisions/0003-compression.md).
 *
 *   type     written by clients as
 *   gzip     one gzip stream
 *   snappy   Java: xerial framing (a header, then blocks with their lengths); librdkafka: one raw block
 *   lz4      LZ4 frames
 *   zstd     zstd frames, with or without the content's size
 *
 * A batch within the size limit of a topic can inflate to a thousand times its size. Kafka does not limit this:
 * `message.max.bytes` and Java's `batch.size` count compressed bytes. So each codec has two functions. `decompress` is
 * the fast one, for nearly all batches: one call, one buffer, and null if the result would exceed a limit. `pieces`
 * handles any batch with limited memory (`inflation.ts`).
 */

import { promisify } from "node:util";
import { createGunzip, createZstdDecompress, gunzip, zstdDecompress } from "node:zlib";
import { decompressFrame } from "lz4-napi";
import { uncompress } from "snappy";
import { lz4Pieces, snappyBytes, snappyPieces, xerialBlocks } from "./codec-pieces.ts";

export interface Codec {
  /** Null if the result would be larger than `maxBytes`. Throws if the buffer is invalid. */
  decompress(buffer: Buffer, maxBytes: number): Promise<Buffer | null>;
  /** Inflates in pieces of at most 512 KiB. Each piece is created when it is requested. */
  pieces(buffer: Buffer): AsyncIterable<Buffer> | Iterable<Buffer>;
}

interface Bound {
  readonly maxOutputLength: number;
}

const PIECE = { chunkSize: 256 * 1024 };

const gunzipped = promisify<Buffer, Bound, Buffer>(gunzip);
const zstdDecompressed = promisify<Buffer, Bound, Buffer>(zstdDecompress);

function zlibCodec(
  inflate: (buffer: Buffer, bound: Bound) => Promise<Buffer>,
  create: typeof createGunzip | typeof createZstdDecompress,
): Codec {
  return {
    decompress: (buffer, maxOutputLength) =>
      inflate(buffer, { maxOutputLength }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return null;
        throw error;
      }),
    pieces: async function* pieces(buffer) {
      const stream = create(PIECE);
      stream.end(buffer);
      try {
        yield* stream as AsyncIterable<Buffer>;
      } finally {
        stream.destroy();
      }
    },
  };
}

const snappyCodec: Codec = {
  decompress: async (buffer, maxBytes) => {
    const blocks = xerialBlocks(buffer) ?? [buffer];
    let bytes = 0;
    for (const block of blocks) bytes += snappyBytes(block);
    if (bytes > maxBytes) return null;
    return Buffer.concat(await Promise.all(blocks.map(inflateSnappy)));
  },
  pieces: snappyPieces,
};

const lz4Codec: Codec = {
  decompress: async (buffer, maxBytes) => {
    // 255 is LZ4's highest ratio, so the block sizes are read only if the frame could exceed the limit.
    if (buffer.length * 255 > maxBytes && lz4BytesMax(buffer) > maxBytes) return null;
    return decompressFrame(buffer);
  },
  pieces: lz4Pieces,
};

/** Codecs by Kafka's codes for the compressions. */
export const CODECS: Readonly<Record<number, Codec>> = {
  1: zlibCodec(gunzipped, createGunzip),
  2: snappyCodec,
  3: lz4Codec,
  4: zlibCodec(zstdDecompressed, createZstdDecompress),
};

/** Null for an unknown compression. */
export function codecOf(type: number): Codec | null {
  return CODECS[type] ?? null;
}

async function inflateSnappy(block: Buffer): Promise<Buffer> {
  const inflated = await uncompress(block, { asBuffer: true });
  return typeof inflated === "string" ? Buffer.from(inflated) : inflated;
}

/** An upper bound for the inflated bytes of an LZ4 frame, from its blocks and the largest block size in its header. */
function lz4BytesMax(frame: Buffer): number {
  const flags = frame.readUInt8(4);
  const blockMaxBytes = 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 0x07));
  const checksumBytes = (flags & 0x10) === 0 ? 0 : 4;
  let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  let blocks = 0;
  while (at + 4 <= frame.length) {
    const bytes = frame.readUInt32LE(at) & 0x7fffffff;
    if (bytes === 0) break;
    blocks += 1;
    at += 4 + bytes + checksumBytes;
  }
  return blocks * blockMaxBytes;
}

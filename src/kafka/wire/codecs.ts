/**
 * Inflates record batches with any of Kafka's compression types. Switchyard itself compresses a record only if the
 * record would otherwise be too large (docs/decisions/0004-consuming.md#our-own-records-are-not-compressed).
 *
 *   type     written by clients as
 *   gzip     gzip members; usually one
 *   snappy   Java: xerial framing (a header, then blocks with their lengths; several of both are allowed);
 *            librdkafka: one raw block
 *   lz4      LZ4 frames; usually one
 *   zstd     zstd frames, with or without the content's size; usually one
 *
 * A call of a library may stop at the end of the first frame, so LZ4 and zstd frames are split first
 * (`codec-frames.ts`); zlib reads all gzip members. Skippable frames are omitted.
 *
 * A batch within the size limit of a topic can inflate to a thousand times its size. Kafka does not limit this:
 * `message.max.bytes` and Java's `batch.size` count compressed bytes. So each codec has two functions. `decompress` is
 * the fast one, for nearly all batches: one call, one buffer, and null if the result would exceed a limit. `pieces`
 * handles any batch with limited memory (`inflation.ts`). Brokers and Java's consumer ignore what follows the records, such
 * as other bytes or LZ4's checksum of the content. `decompress` may reject such a batch; `pieces` returns the records before
 * it reaches what is invalid.
 */

import { promisify } from "node:util";
import {
  createInflateRaw,
  createZstdDecompress,
  gunzip,
  type InflateRaw,
  type ZstdDecompress,
  zstdDecompress,
} from "node:zlib";
import { decompressFrame } from "lz4-napi";
import { uncompress } from "snappy";
import { gzipHeaderBytes, lz4Frames, zstdFrames } from "./codec-frames.ts";
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

/** The checksum and the length after the deflated data. They are not checked, because the batch has its own checksum. */
const GZIP_TRAILER_BYTES = 8;

async function* gzipPieces(buffer: Buffer) {
  for (let at = 0; at < buffer.length; at += GZIP_TRAILER_BYTES) {
    at += gzipHeaderBytes(buffer.subarray(at));
    const stream = createInflateRaw(PIECE);
    yield* inflatedBy(stream, buffer.subarray(at));
    at += stream.bytesWritten;
  }
}

async function* zstdPieces(buffer: Buffer) {
  for (const frame of zstdFrames(buffer)) yield* inflatedBy(createZstdDecompress(PIECE), frame);
}

async function* inflatedBy(stream: InflateRaw | ZstdDecompress, buffer: Buffer) {
  stream.end(buffer);
  try {
    yield* stream as AsyncIterable<Buffer>;
  } finally {
    stream.destroy();
  }
}

function zlibCodec(
  inflate: (buffer: Buffer, bound: Bound) => Promise<Buffer>,
  pieces: Codec["pieces"],
  framesOf: (buffer: Buffer) => Iterable<Buffer>,
): Codec {
  return {
    decompress: async (buffer, maxBytes) => {
      const [first, ...more] = framesOf(buffer);
      if (first === undefined || more.length > 0) return collected(pieces(buffer), maxBytes);
      return inflate(first, { maxOutputLength: maxBytes }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return null;
        throw error;
      });
    },
    pieces,
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
    const [first, ...more] = lz4Frames(buffer);
    if (first === undefined || more.length > 0) return collected(lz4Pieces(buffer), maxBytes);
    // 255 is LZ4's highest ratio, so the block sizes count only if the frame could exceed the limit.
    if (first.frame.length * 255 > maxBytes && first.inflatedMaxBytes > maxBytes) return null;
    return decompressFrame(first.frame);
  },
  pieces: lz4Pieces,
};

/** Joins the pieces of a batch with several frames. */
async function collected(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  maxBytes: number,
): Promise<Buffer | null> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) return null;
    all.push(piece);
  }
  return Buffer.concat(all);
}

/** Codecs by Kafka's codes for the compressions. */
export const CODECS: Readonly<Record<number, Codec>> = {
  1: zlibCodec(gunzipped, gzipPieces, (buffer) => [buffer]),
  2: snappyCodec,
  3: lz4Codec,
  4: zlibCodec(zstdDecompressed, zstdPieces, zstdFrames),
};

/** Null for an unknown compression. */
export function codecOf(type: number): Codec | null {
  return CODECS[type] ?? null;
}

async function inflateSnappy(block: Buffer): Promise<Buffer> {
  const inflated = await uncompress(block, { asBuffer: true });
  return typeof inflated === "string" ? Buffer.from(inflated) : inflated;
}

/**
 * Unpacks gzip, up to the limit for a body.
 *
 *   the packed bytes                                  result
 *   state a size above the limit                      rejected immediately
 *   state a small size and unpack to it               unpacked at once
 *   unpack to more than they state, or to a large     unpacked in pieces, one body at a time, and
 *   size                                              checked after the first pieces
 *   unpack to more than the limit                     rejected at the piece that exceeds it
 *
 * For nearly all bodies, unpacking on this thread is faster than passing them to another thread. An unpacked body
 * may not exceed the limit for bodies. If it is larger than 128 KiB, it may also not exceed a hundred times its packed
 * size. Packing real bodies does not make them smaller than a fiftieth, because each call has its own IDs and times.
 */

import { constants, createGunzip, gunzipSync } from "node:zlib";
import type { InTurn } from "../../base/runtime/in-turn.ts";
import type { Hold } from "./limits.ts";
import type { Code } from "./responses.ts";

export type Unpacked =
  | { readonly kind: "body"; readonly bytes: Buffer }
  | { readonly kind: "refused"; readonly code: Code; readonly detail: string | null };

export interface Unpacking {
  readonly maxBytes: number;
  /** Counts the memory of the body, even if the body is rejected. */
  readonly hold: Hold;
  /** Checks the start of a large body; returns null if unpacking may continue. */
  readonly look: (beginning: Buffer) => Unpacked | null;
  readonly inTurn: InTurn;
}

/** A body of at most this unpacked size is unpacked in one step. */
export const ONE_GO_BYTES = 131_072;
const PIECE_BYTES = 65_536;
/** This many packed bytes unpack to at most 128 KiB. */
const FIRST_PACKED_BYTES = 128;
/** Any packed body may unpack to `ALWAYS_BYTES`. Beyond that, the limit is `TIMES_MAX` times the packed size. */
const ALWAYS_BYTES = ONE_GO_BYTES;
const TIMES_MAX = 100;
/** The highest ratio that gzip can reach. If a body states a higher ratio, it is truncated or corrupt. */
const DEFLATE_TIMES_MAX = 1_032;

export async function unpack(packed: Buffer, unpacking: Unpacking): Promise<Unpacked> {
  const { hold, look, inTurn } = unpacking;
  const maxBytes = Math.min(unpacking.maxBytes, Math.max(ALWAYS_BYTES, TIMES_MAX * packed.length));
  // If a body has several parts, it states only the size of the last part. The other sizes are known only after
  // unpacking.
  const said = packed.length < 4 ? 0 : packed.readUInt32LE(packed.length - 4);
  if (said > DEFLATE_TIMES_MAX * packed.length) return refused("invalid-gzip");
  if (said > maxBytes) return refused("body-too-large");
  const atOnce = said <= ONE_GO_BYTES ? inOneGo(packed, said, hold) : "more";
  if (atOnce === "corrupt") return refused("invalid-gzip");
  const early = atOnce === "more" ? lookAtFirst(packed, look) : null;
  if (early !== null) return early;
  const unpacked =
    atOnce === "more" ? await inTurn(() => inPieces(packed, maxBytes, unpacking)) : atOnce;
  if (unpacked.kind === "body") hold.shrink(packed.length);
  return unpacked;
}

/** Returns "more" if the body unpacks to more than it states. */
function inOneGo(packed: Buffer, said: number, hold: Hold): Unpacked | "more" | "corrupt" {
  const chunkSize = Math.max(1_024, said + 1);
  try {
    const bytes = gunzipSync(packed, { maxOutputLength: Math.max(1, said), chunkSize });
    return hold.grow(bytes.length) ? { kind: "body", bytes } : refused("overloaded");
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return code === "ERR_BUFFER_TOO_LARGE" ? "more" : "corrupt";
  }
}

/** A high ratio means that the content is repetitive, so its start is checked before a thread unpacks all of it. */
function lookAtFirst(packed: Buffer, look: Unpacking["look"]): Unpacked | null {
  const first = packed.subarray(0, FIRST_PACKED_BYTES);
  try {
    return look(gunzipSync(first, { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: PIECE_BYTES }));
  } catch {
    // The bytes are corrupt. Unpacking in pieces will detect and report this.
    return null;
  }
}

function inPieces(packed: Buffer, maxBytes: number, { hold, look }: Unpacking): Promise<Unpacked> {
  return new Promise((resolve) => {
    const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
    const pieces: Buffer[] = [];
    let size = 0;
    const end = (unpacked: Unpacked) => {
      resolve(unpacked);
      gunzip.destroy();
    };
    gunzip.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size > maxBytes) return end(refused("body-too-large"));
      if (!hold.grow(piece.length)) return end(refused("overloaded"));
      pieces.push(piece);
      const isSeen = size - piece.length >= PIECE_BYTES;
      const seen = isSeen || size < PIECE_BYTES ? null : look(Buffer.concat(pieces, size));
      if (seen !== null) end(seen);
    });
    gunzip.on("error", () => end(refused("invalid-gzip")));
    gunzip.on("end", () => end({ kind: "body", bytes: Buffer.concat(pieces, size) }));
    gunzip.end(packed);
  });
}

export function refused(code: Code, detail: string | null = null) {
  return { kind: "refused", code, detail } as const;
}

/**
 * Reads the body of a request, and no further than is allowed.
 *
 *   the body                                              result
 *   arrives whole, in UTF-8                               its bytes, unpacked
 *   is announced or found to be over the limit            refused: body-too-large
 *   finds no room among the bytes in hand                 refused: overloaded
 *   has an encoding that is not gzip                      refused: invalid-encoding
 *   is no gzip, or unpacks to more than the limit         refused: invalid-gzip, body-too-large
 *   is not UTF-8                                          refused: invalid-json
 *   ends with the connection                              gone: there is nobody to answer
 *
 * Unpacking stops at the limit, whatever the packed bytes would become. It is done in one go: that
 * takes less time than handing it to a thread for nearly all bodies, and only one is unpacked at a
 * time.
 */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";

import type { Code } from "./answer.ts";
import type { Hold } from "./limits.ts";

export type Body =
  | { readonly kind: "body"; readonly bytes: Buffer }
  | { readonly kind: "refused"; readonly code: Code; readonly detail: string | null }
  | { readonly kind: "gone" };

const GONE: Body = { kind: "gone" };

/** What the body takes is in `hold`, also when it is refused. Never rejects. */
export async function readRequestBody(
  request: IncomingMessage,
  bytesMax: number,
  hold: Hold,
): Promise<Body> {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const isGzip = encoding === "gzip" || encoding === "x-gzip";
  if (!isGzip && encoding !== "identity" && encoding !== "") return refused("invalid-encoding");
  const received = await receive(request, bytesMax, hold);
  if (received.kind !== "body") return received;
  const unpacked = isGzip ? unpack(received.bytes, bytesMax, hold) : received;
  if (unpacked.kind !== "body") return unpacked;
  const { bytes } = unpacked;
  if (!isUtf8(bytes)) return refused("invalid-json", "the body is not UTF-8");
  return { kind: "body", bytes: withoutMark(bytes) };
}

function receive(request: IncomingMessage, bytesMax: number, hold: Hold): Promise<Body> {
  return new Promise((resolve) => {
    if (Number(request.headers["content-length"] ?? 0) > bytesMax) {
      resolve(refused("body-too-large"));
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (body: Body) => {
      request.off("data", onData);
      resolve(body);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) return end(refused("body-too-large"));
      if (!hold.grow(chunk.length)) return end(refused("overloaded"));
      chunks.push(chunk);
    };
    request.on("data", onData);
    request.once("end", () => end({ kind: "body", bytes: joined(chunks, size) }));
    request.once("error", () => end(GONE));
    request.once("close", () => end(GONE));
  });
}

function joined(chunks: readonly Buffer[], size: number): Buffer {
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size);
}

function unpack(packed: Buffer, bytesMax: number, hold: Hold): Body {
  let bytes: Buffer;
  try {
    bytes = gunzipSync(packed, { maxOutputLength: bytesMax, chunkSize: unpackedSize(packed) });
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return refused(code === "ERR_BUFFER_TOO_LARGE" ? "body-too-large" : "invalid-gzip");
  }
  if (!hold.grow(bytes.length)) return refused("overloaded");
  hold.shrink(packed.length);
  return { kind: "body", bytes };
}

const CHUNK_BYTES_MIN = 1_024;
const CHUNK_BYTES_MAX = 1_048_576;

/** What gzip says at its end, within reason: with room for it all, nothing is put together twice. */
function unpackedSize(packed: Buffer): number {
  const said = packed.length < 4 ? 0 : packed.readUInt32LE(packed.length - 4) + 1;
  return Math.min(CHUNK_BYTES_MAX, Math.max(CHUNK_BYTES_MIN, said));
}

/** A leading byte-order mark is ignored, as in records. */
function withoutMark(bytes: Buffer): Buffer {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isMarked ? bytes.subarray(3) : bytes;
}

function refused(code: Code, detail: string | null = null): Body {
  return { kind: "refused", code, detail };
}

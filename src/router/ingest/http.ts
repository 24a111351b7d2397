/**
 * Reads the body of a request, up to the limits.
 *
 *   the body                                              result
 *   arrives completely                                    its bytes, unpacked
 *   is announced as too large, or turns out to be         rejected: body-too-large
 *   has too many calls in its first bytes                 rejected: body-too-large
 *   would exceed the bytes in flight                      rejected: overloaded
 *   arrives too slowly                                    rejected: request-timeout
 *   has an encoding other than gzip                       rejected: invalid-encoding
 *   is not gzip, or unpacks to more than the limit        rejected: invalid-gzip, body-too-large
 *   is cut off because the connection ends                gone: no response can be sent
 */

import type { IncomingMessage } from "node:http";
import { refusedEarly } from "./read-body.ts";
import type { SlowBodies } from "./slow-bodies.ts";
import { refused, type Unpacked, type Unpacking, unpack } from "./unpack.ts";

export type Body = Unpacked | { readonly kind: "gone" };

export interface BodyReading extends Omit<Unpacking, "look"> {
  /** If `true`, the body contains a list of calls. */
  readonly isBatch: boolean;
  readonly slowBodies: SlowBodies;
}

const GONE: Body = { kind: "gone" };

/** Never rejects. */
export async function readRequestBody(
  request: IncomingMessage,
  reading: BodyReading,
): Promise<Body> {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const isGzip = encoding === "gzip" || encoding === "x-gzip";
  if (!isGzip && encoding !== "identity" && encoding !== "") return refused("invalid-encoding");
  const received = await receive(request, reading, isGzip);
  if (received.kind !== "body") return received;
  return isGzip ? unpackInTurn(received.bytes, reading) : received;
}

function receive(
  request: IncomingMessage,
  { maxBytes, hold, isBatch, slowBodies }: BodyReading,
  isGzip: boolean,
): Promise<Body> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) {
    return Promise.resolve(refused("body-too-large"));
  }
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const onItsWay = { bytes: 0, stop: () => end(refused("request-timeout", TOO_SLOW)) };
    const end = (body: Body) => {
      request.off("data", onData);
      slowBodies.end(onItsWay);
      resolve(body);
    };
    const onData = (chunk: Buffer) => {
      const before = onItsWay.bytes;
      onItsWay.bytes += chunk.length;
      if (onItsWay.bytes > maxBytes) return end(refused("body-too-large"));
      if (!hold.grow(chunk.length)) return end(refused("overloaded"));
      chunks.push(chunk);
      const isLookedAt = !isGzip && before < LOOK_BYTES && onItsWay.bytes >= LOOK_BYTES;
      const early = isLookedAt ? lookAt(joined(chunks, onItsWay.bytes), isBatch) : null;
      if (early !== null) end(early);
    };
    slowBodies.begin(onItsWay, performance.now());
    request.on("data", onData);
    request.once("end", () => end({ kind: "body", bytes: joined(chunks, onItsWay.bytes) }));
    request.once("error", () => end(GONE));
    request.once("close", () => end(GONE));
  });
}

const TOO_SLOW = "the body arrives too slowly";
/** When this many bytes of a large body have arrived, they are checked before the rest is read. */
const LOOK_BYTES = 65_536;

function lookAt(beginning: Buffer, isBatch: boolean) {
  const early = refusedEarly(beginning, isBatch);
  return early === null ? null : refused(early.code, early.error);
}

function unpackInTurn(packed: Buffer, { maxBytes, hold, isBatch, inTurn }: BodyReading) {
  return unpack(packed, {
    maxBytes,
    hold,
    look: (beginning) => lookAt(beginning, isBatch),
    inTurn,
  });
}

function joined(chunks: readonly Buffer[], size: number): Buffer {
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size);
}

/**
 * HMAC-SHA1 (RFC 2104) as two one-shot hashes, for a secret that signs many bodies:
 *
 *   hash(outer pad, hash(inner pad, body))
 *
 * `createHmac` makes a native object for each body, to be initialised and collected. That takes
 * more than twice the time for a body of 1 KB; for a large one it makes no difference.
 */

import { createHmac, hash } from "node:crypto";

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 20;
const BODY_MAX_BYTES = 65_536;

interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

/** The bytes to hash are put together here: nothing of it outlives a call. */
const message = Buffer.allocUnsafeSlow(BLOCK_BYTES + BODY_MAX_BYTES);
const padsOf = new Map<string, Pads>();

/**
 * Lowercase hex, 40 characters.
 *
 * @param secret not empty; counts as its UTF-8 bytes. Its pads are kept for the process's life.
 */
export function hmacSha1(body: Buffer, secret: string): string {
  if (body.length > BODY_MAX_BYTES) return createHmac("sha1", secret).update(body).digest("hex");
  let pads = padsOf.get(secret);
  if (pads === undefined) {
    pads = makePads(secret);
    padsOf.set(secret, pads);
  }
  message.set(pads.inner);
  message.set(body, BLOCK_BYTES);
  // As text with a character for each byte: a buffer would cost more.
  const inner = hash("sha1", message.subarray(0, BLOCK_BYTES + body.length), "binary");
  message.set(pads.outer);
  message.write(inner, BLOCK_BYTES, "latin1");
  return hash("sha1", message.subarray(0, BLOCK_BYTES + DIGEST_BYTES), "hex");
}

function makePads(secret: string): Pads {
  const given = Buffer.from(secret);
  const key = Buffer.alloc(BLOCK_BYTES);
  key.set(given.length > BLOCK_BYTES ? hash("sha1", given, "buffer") : given);
  return { inner: key.map((byte) => byte ^ 0x36), outer: key.map((byte) => byte ^ 0x5c) };
}

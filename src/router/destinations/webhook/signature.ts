/**
 * Computes the two signatures of a webhook. The key for both is the destination's shared secret.
 *
 *   X-Signature         HMAC-SHA1 of the body as it is sent, in hex. SHA-1 was a requirement;
 *                       as an HMAC, it is still secure
 *   webhook-signature   HMAC-SHA256 of `id.timestamp.body`, in base64, as in Standard Webhooks
 *
 * As in the libraries of Standard Webhooks, if a secret starts with `whsec_`, the key for `webhook-signature` is the
 * rest of the secret, decoded from base64. For any other secret, and always for `X-Signature`, the key is the UTF-8
 * bytes of the whole secret.
 */

import { createHmac, hash } from "node:crypto";

const STANDARD_PREFIX = "whsec_";

/**
 * Returns 40 characters of lowercase hex.
 *
 * @param body the exact bytes of the request. A string stands for its UTF-8 bytes.
 * @param secret must not be empty; its UTF-8 bytes are the key.
 */
export function signature(body: Buffer | string, secret: string): string {
  return hmacSha1(typeof body === "string" ? Buffer.from(body) : body, secret);
}

/**
 * Returns one entry of `webhook-signature`, such as `v1,g0hM9SsE...`.
 *
 * @param id must not contain a full stop, because a part of the ID could otherwise be mistaken for the timestamp.
 * @param timestamp whole seconds since the epoch.
 */
export function standardSignature(
  id: string,
  timestamp: string,
  body: Buffer | string,
  secret: string,
): string {
  const key = secret.startsWith(STANDARD_PREFIX)
    ? Buffer.from(secret.slice(STANDARD_PREFIX.length), "base64")
    : secret;
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  return `v1,${mac.digest("base64")}`;
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 20;
const BODY_MAX_BYTES = 65_536;

interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

/** A buffer for the bytes to hash, which is reused by each call. */
const message = Buffer.allocUnsafeSlow(BLOCK_BYTES + BODY_MAX_BYTES);
const padsOf = new Map<string, Pads>();

/**
 * Computes HMAC-SHA1 (RFC 2104) as two one-shot hashes, for a secret that signs many bodies:
 *
 *   hash(outer pad, hash(inner pad, body))
 *
 * `createHmac` would allocate a native object for each body. For a body of 1 KB, it takes more than twice as long;
 * for a large body, there is no difference.
 *
 * Returns 40 characters of lowercase hex.
 *
 * @param secret must not be empty; its UTF-8 bytes are the key. The pads derived from it are kept until the process
 *   ends.
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
  // A string with one character per byte is cheaper here than a buffer.
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

/**
 * Percent-encodes a percent sign, and characters that are not visible ASCII. Message IDs come from outside, and may
 * contain any character. Different IDs stay different, so that receivers can detect duplicates.
 */
export function visible(text: string): string {
  if (/^[!-$&-~]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const isVisible = byte > 0x20 && byte < 0x7f && byte !== 0x25;
    encoded += isVisible
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

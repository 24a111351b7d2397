/**
 * The `X-Signature` of a webhook: HMAC-SHA1 of the body as sent, keyed with the destination's
 * shared secret (SPEC section 7). SHA-1 was given with the project; as an HMAC it still holds.
 */

import { createHmac } from "node:crypto";

/**
 * Lowercase hex, 40 characters.
 *
 * @param body the exact bytes of the request; a string counts as its UTF-8 bytes.
 * @param secret not empty; counts as its UTF-8 bytes.
 */
export function signature(body: Buffer | string, secret: string): string {
  return createHmac("sha1", secret).update(body).digest("hex");
}

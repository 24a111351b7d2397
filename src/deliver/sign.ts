/**
 * Signatures of a webhook, both keyed with the destination's shared secret.
 *
 *   X-Signature         HMAC-SHA1 of the body as sent, in hex. SHA-1 was given with the project;
 *                       as an HMAC it still holds
 *   webhook-signature   HMAC-SHA256 of `id.timestamp.body`, in base64, as Standard Webhooks has it
 *
 * For Standard Webhooks a secret that begins with `whsec_` stands for the bytes that the rest says
 * in base64, as its libraries read it; any other one for its UTF-8 bytes. `X-Signature` always
 * takes the secret as it is written.
 */

import { createHmac } from "node:crypto";

import { hmacSha1 } from "./hmac-sha1.ts";

const STANDARD_PREFIX = "whsec_";

/**
 * Lowercase hex, 40 characters.
 *
 * @param body the exact bytes of the request; a string counts as its UTF-8 bytes.
 * @param secret not empty; counts as its UTF-8 bytes.
 */
export function signature(body: Buffer | string, secret: string): string {
  return hmacSha1(typeof body === "string" ? Buffer.from(body) : body, secret);
}

/**
 * One entry of `webhook-signature`, such as `v1,g0hM9SsE...`.
 *
 * @param id without a full stop: with one, a part of it could pass for the timestamp.
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

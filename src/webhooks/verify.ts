/** Verifies `X-Signature`: the lowercase hex HMAC-SHA1 of the body, keyed with the shared secret. */

import { createHmac, timingSafeEqual } from "node:crypto";

import { bytesOf, type RawBody } from "./raw-body.ts";

/** One secret; or several, one of which fits, while one takes the place of another. */
export type Secrets = string | readonly string[];

/**
 * Whether a request was signed with the secret. The time it takes does not depend on how much of a
 * wrong signature is right, nor on which secret fits.
 *
 * @param rawBody the body exactly as it arrived, before any JSON parser: a parsed and re-written
 *   body may differ. A string counts as its UTF-8 bytes.
 * @param signature the value of the header `X-Signature`, in either letter case; absent: false.
 * @param secrets the destination's shared secret, or several.
 * @throws TypeError for no or an empty secret, with which anybody could sign, and for a parsed body.
 */
export function verify(
  rawBody: RawBody,
  signature: string | null | undefined,
  secrets: Secrets,
): boolean {
  const keys = listOf(secrets);
  const body = bytesOf(rawBody);
  const given = typeof signature === "string" ? signature.toLowerCase() : "";
  let fits = false;
  for (const key of keys) {
    const expected = createHmac("sha1", key).update(body).digest("hex");
    fits = isEqual(given, expected) || fits;
  }
  return fits;
}

/** @throws TypeError when there is none, or one is empty. */
export function listOf(secrets: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  const isGood = (secret: unknown): secret is string => typeof secret === "string" && secret !== "";
  if (list.length > 0 && list.every(isGood)) return list;
  throw new TypeError(
    "the secret is empty or no text: set it to the destination's shared secret, or to a list of them",
  );
}

/** In constant time for texts of one length. */
export function isEqual(given: string, expected: string): boolean {
  const encoder = new TextEncoder();
  const [one, other] = [encoder.encode(given), encoder.encode(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

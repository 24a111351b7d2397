/**
 * Verifies the headers of Standard Webhooks, which a destination with `standardWebhooks: true` gets.
 *
 *   webhook-id, -timestamp or -signature     result
 *   one is missing, or stands there twice    false
 *   timestamp is no whole number of seconds  false
 *   timestamp further away than tolerated    false: it may be a request that somebody kept
 *   one of the signatures is by a secret     true
 *   none is                                  false
 *
 * A secret that begins with `whsec_` stands for the bytes that the rest says in base64, as
 * everywhere in Standard Webhooks; any other one for its UTF-8 bytes.
 */

import { createHmac } from "node:crypto";

import { bytesOf, type RawBody } from "./raw-body.ts";
import { isEqual, listOf, type Secrets } from "./verify.ts";

/** `Headers` of fetch, or an object of names and values such as Node's `request.headers`. */
export type RequestHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface StandardOptions {
  /** Milliseconds between the timestamp and now, in either direction. Default 300,000. */
  readonly toleranceMs?: number | undefined;
  /** Milliseconds since the epoch. Default: the clock. */
  readonly nowMs?: number | undefined;
}

const TOLERANCE_MS = 300_000;
const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}(?:==)?|[A-Za-z\d+/]{3}=?)?$/;

/**
 * Whether a request was signed with the secret, at about this time. The time it takes does not
 * depend on how much of a wrong signature is right, nor on which secret fits.
 *
 * @param rawBody as for `verify`.
 * @param headers the request's headers, all of them.
 * @param secrets the destination's shared secret, or several.
 * @throws TypeError for no, an empty or a malformed secret, and for a parsed body.
 */
export function verifyStandard(
  rawBody: RawBody,
  headers: RequestHeaders,
  secrets: Secrets,
  options: StandardOptions = {},
): boolean {
  // biome-ignore lint/plugin: receivers hand in requests, not clocks.
  const { toleranceMs = TOLERANCE_MS, nowMs = Date.now() } = options;
  const keys = listOf(secrets).map(keyOf);
  const body = bytesOf(rawBody);
  // A number that is none would compare as "not too old".
  if (!(toleranceMs >= 0)) throw new TypeError("toleranceMs must be a number from 0 on");
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  if (id === null || timestamp === null || signatures === null) return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (!(Math.abs(nowMs - Number(timestamp) * 1_000) <= toleranceMs)) return false;
  let fits = false;
  for (const key of keys) {
    const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
    const expected = `v1,${mac.digest("base64")}`;
    for (const given of signatures.split(" ")) fits = isEqual(given, expected) || fits;
  }
  return fits;
}

function keyOf(secret: string): Uint8Array {
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret);
  const base64 = secret.slice(PREFIX.length);
  if (base64 !== "" && BASE64.test(base64)) {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  }
  throw new TypeError("the secret begins with whsec_, but what follows is no base64");
}

/** Null: absent, empty, or there more than once. */
function header(headers: RequestHeaders, name: string): string | null {
  const found = typeof headers.get === "function" ? headers.get(name) : onlyValue(headers, name);
  return typeof found === "string" && found !== "" ? found : null;
}

function onlyValue(headers: object, name: string): unknown {
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]): readonly unknown[] => (Array.isArray(value) ? value : [value]));
  return values.length === 1 ? values[0] : null;
}

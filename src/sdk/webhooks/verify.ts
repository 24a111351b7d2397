/**
 * Verifies the sender of a webhook. `verify` checks `X-Signature`, the lowercase hex HMAC-SHA1 of the body, keyed with
 * the shared secret. `verifyStandard` checks the headers of Standard Webhooks, which requests have if the destination
 * has `standardWebhooks: true`.
 *
 *   webhook-id, -timestamp or -signature         `verifyStandard`
 *   one is missing, or is sent twice             false
 *   timestamp is not an integer of seconds       false
 *   timestamp is outside the tolerance           false, because the request may be a replay
 *   one of the signatures matches a secret       true: `v1` for a shared secret, `v1a` for a public key
 *   any other case                               false
 *
 * If a secret starts with `whsec_`, the rest of it is decoded from base64, as Standard Webhooks defines. Any other
 * secret counts as its UTF-8 bytes, including whitespace around it, as on the signing side.
 *
 * Everybody may know a public key of Ed25519, so what looks like a key never counts as a shared secret:
 *
 *   passed, with or without whitespace around it     counts as
 *   -----BEGIN PUBLIC KEY-----, whpk_ or a JWK       the public key; an error if it is not one of Ed25519
 *   any other text that contains `-----BEGIN ` or    an error
 *   `whpk_`, or starts like a JSON object
 *
 * The signature covers the bytes of the body as it arrived, before any parser:
 *
 *   passed                                  counts as
 *   Uint8Array, Buffer, another view        its bytes
 *   ArrayBuffer                             its bytes
 *   string                                  its UTF-8 bytes
 *   a promise                               an error: `await` is missing
 *   undefined or null                       an error: the body was not read
 *   an object or list from a parser          an error, because its JSON may differ from the body
 */

import assert from "node:assert/strict";
import {
  createHmac,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  timingSafeEqual,
  verify as verifySignature,
} from "node:crypto";

/** One secret or, for `verifyStandard`, one public key; or several during a rotation. */
export type Secrets = string | readonly string[];

/**
 * Returns true if a request was signed with one of the secrets. The comparison takes constant time: its duration
 * reveals neither how many bytes of a signature match, nor which secret does.
 *
 * @param rawBody the body exactly as it arrived, before any JSON parser, because a body that was parsed and serialized
 * again may differ. A string counts as its UTF-8 bytes.
 * @param signature the value of the header `X-Signature`, in either letter case; if absent, the result is false.
 * @param secrets the destination's shared secret, or several.
 * @throws TypeError if there is no secret, if a secret is empty (anyone could sign with an empty one) or a public key, or if
 * the body was parsed.
 */
export function verify(
  rawBody: RawBody,
  signature: string | null | undefined,
  secrets: Secrets,
): boolean {
  const keys = listOf(secrets);
  if (keys.some(isPublic)) {
    throw new TypeError(
      "X-Signature is not made with a public key: pass the shared secret, or use verifyStandard",
    );
  }
  const body = bytesOf(rawBody);
  const given = typeof signature === "string" ? signature.toLowerCase() : "";
  let fits = false;
  for (const key of keys) {
    const expected = createHmac("sha1", key).update(body).digest("hex");
    fits = isEqual(given, expected) || fits;
  }
  return fits;
}

/** @throws TypeError if there is no secret, or if a secret is empty. */
function listOf(secrets: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  const isGood = (secret: unknown): secret is string => typeof secret === "string" && secret !== "";
  if (list.length > 0 && list.every(isGood)) return list;
  throw new TypeError(
    "the secret is empty or not a string: set it to the destination's shared secret, or to a list of them",
  );
}

/** Compares strings, in constant time if they have the same length. */
function isEqual(given: string, expected: string): boolean {
  const encoder = new TextEncoder();
  const [one, other] = [encoder.encode(given), encoder.encode(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** A `Buffer` is a `Uint8Array`. */
export type RawBody = string | ArrayBuffer | Uint8Array;

/** @throws TypeError that says what was passed, and how to get the raw body. */
export function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === "string") return new TextEncoder().encode(rawBody);
  if (ArrayBuffer.isView(rawBody)) {
    return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  }
  // This check also accepts an ArrayBuffer of another realm, such as that of a test runner.
  if (Object.prototype.toString.call(rawBody) === "[object ArrayBuffer]") {
    return new Uint8Array(rawBody as ArrayBuffer);
  }
  throw new TypeError(
    `rawBody is ${found(rawBody)}: pass the request's bytes or string as they arrived, before any JSON ` +
      "parser. In Express: express.raw({ type: () => true }). Others: docs/webhooks.md#frameworks",
  );
}

function found(rawBody: unknown): string {
  if (rawBody === undefined || rawBody === null) return `${rawBody}`;
  if (typeof rawBody !== "object") return `a ${typeof rawBody}`;
  return "then" in rawBody ? "a promise (await it)" : "a parsed body";
}

/** The `Headers` of fetch, or an object of names and values such as Node's `request.headers`. */
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
const PUBLIC_PREFIX = "whpk_";
const PUBLIC_PEM = "-----BEGIN PUBLIC KEY-----";
/** A brace alone may start a shared secret. */
const LIKE_KEY = /^\s*\{\s*["}]|-----BEGIN |whpk_/;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}(?:==)?|[A-Za-z\d+/]{3}=?)?$/;

/**
 * Returns true if a request was signed with one of the secrets, and if its timestamp is within the tolerance. The
 * comparison takes constant time, like that of `verify`.
 *
 * @param rawBody as for `verify`.
 * @param headers all headers of the request.
 * @param secrets the destination's shared secret, or its public key (as PEM, `whpk_` or JWK; `switchyard sign
 *   --public-key` prints it), or several of both.
 * @throws TypeError if there is no secret, if a secret or key is empty or malformed, if the body was parsed, or if
 *   `toleranceMs` is negative or NaN.
 */
export function verifyStandard(
  rawBody: RawBody,
  headers: RequestHeaders,
  secrets: Secrets,
  options: StandardOptions = {},
): boolean {
  // biome-ignore lint/plugin: receivers pass requests, not clocks.
  const { toleranceMs = TOLERANCE_MS, nowMs = Date.now() } = options;
  const listed = listOf(secrets);
  const keys = listed.filter((secret) => !isPublic(secret)).map(keyOf);
  const publicKeys = listed.filter(isPublic).map(publicKeyOf);
  const body = bytesOf(rawBody);
  // The negated comparison also rejects NaN.
  if (!(toleranceMs >= 0)) throw new TypeError("toleranceMs must be a number, 0 or greater");
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
  if (publicKeys.length === 0) return fits;
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const given = signatures
    .split(" ")
    .flatMap((each) => (each.startsWith("v1a,") ? each.slice(4) : []));
  return fits || given.some((each) => publicKeys.some((key) => isSignedBy(key, signed, each)));
}

function isSignedBy(key: KeyObject, signed: Uint8Array, base64: string): boolean {
  return BASE64.test(base64) && verifySignature(null, signed, key, Buffer.from(base64, "base64"));
}

function isPublic(secret: string): boolean {
  return LIKE_KEY.test(secret);
}

function publicKeyOf(given: string): KeyObject {
  const text = given.trim();
  try {
    const key = createPublicKey(
      text.startsWith(PUBLIC_PEM) ? text : { key: publicJwk(text), format: "jwk" },
    );
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // What Node reports is about JWK or DER.
  }
  throw new TypeError(
    "the public key is not one of Ed25519: pass its PEM, its JWK, or whpk_ and its 32 bytes in base64",
  );
}

/** @throws Error if it is a private key, of which Node would use the public part. */
function publicJwk(text: string): JsonWebKey {
  if (text.startsWith(PUBLIC_PREFIX)) {
    const x = Buffer.from(text.slice(PUBLIC_PREFIX.length), "base64").toString("base64url");
    return { kty: "OKP", crv: "Ed25519", x };
  }
  const jwk = JSON.parse(text);
  assert(!("d" in jwk));
  return jwk;
}

function keyOf(secret: string): Uint8Array {
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret);
  const base64 = secret.slice(PREFIX.length);
  if (base64 !== "" && BASE64.test(base64)) {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  }
  throw new TypeError("the secret starts with whsec_, but what follows is not base64");
}

/** The value of a header; null if it is absent, empty, or sent more than once. */
export function header(headers: RequestHeaders, name: string): string | null {
  const found = typeof headers.get === "function" ? headers.get(name) : onlyValue(headers, name);
  return typeof found === "string" && found !== "" ? found : null;
}

function onlyValue(headers: object, name: string): unknown {
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]): readonly unknown[] => (Array.isArray(value) ? value : [value]));
  return values.length === 1 ? values[0] : null;
}

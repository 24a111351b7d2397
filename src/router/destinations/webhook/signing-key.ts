/**
 * Ed25519 keys with which webhooks are signed, as Standard Webhooks defines for `v1a`. Whoever has the public key can verify a
 * signature, but cannot make one.
 *
 *   a private key that starts with    is
 *   -----BEGIN                        PEM with PKCS 8 (RFC 8410), without a passphrase
 *   whsk_                             base64 of 32 bytes, the seed, or of 64 bytes, the seed and the public key
 *
 * Whitespace around a key does not count, because a PEM file ends with a newline.
 */

import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";

const PRIVATE_PREFIX = "whsk_";
const PUBLIC_PREFIX = "whpk_";
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}(?:==)?|[A-Za-z\d+/]{3}=?)?$/;
const SEED_BYTES = 32;
/** The start of a private key of Ed25519 in PKCS 8 (RFC 8410, section 7), which the seed follows. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** Keys by their text. A configuration has few of them, and reading one takes longer than a signature. */
const keys = new Map<string, KeyObject>();

/** @throws Error that says what is wrong with the key, without any part of it. */
export function signingKey(text: string): KeyObject {
  const key = keys.get(text) ?? readKey(text.trim());
  keys.set(text, key);
  return key;
}

function readKey(text: string): KeyObject {
  if (text.startsWith(PRIVATE_PREFIX)) return keyOfBytes(text.slice(PRIVATE_PREFIX.length));
  if (!text.startsWith("-----BEGIN"))
    throw new Error("neither PEM nor a key that starts with whsk_");
  const key = pemKey(text);
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new Error(`a key of type ${key.asymmetricKeyType}`);
}

function pemKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error("PEM without a private key that can be read");
  }
}

function keyOfBytes(base64: string): KeyObject {
  if (!BASE64.test(base64)) throw new Error("whsk_ followed by something other than base64");
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES) {
    throw new Error(`whsk_ followed by ${bytes.length} bytes, and not by 32 or 64`);
  }
  const [seed, publicKey] = [bytes.subarray(0, SEED_BYTES), bytes.subarray(SEED_BYTES)];
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
  if (publicKey.length === 0 || publicKey.equals(bytesOf(createPublicKey(key)))) return key;
  throw new Error("whsk_ followed by a seed and the public key of another seed");
}

function bytesOf(publicKey: KeyObject): Buffer {
  return Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
}

/** The public key, in each form that a receiver may need. */
export function publicKeyTexts(text: string): Readonly<Record<"pem" | "whpk" | "jwk", string>> {
  const key = createPublicKey(signingKey(text));
  return {
    pem: key.export({ format: "pem", type: "spki" }).toString(),
    whpk: `${PUBLIC_PREFIX}${bytesOf(key).toString("base64")}`,
    jwk: JSON.stringify({ ...key.export({ format: "jwk" }), alg: "EdDSA", use: "sig" }),
  };
}

/** Returns one entry of `webhook-signature`, such as `v1a,hnO3f9T8...`. @param id and `timestamp` as for `v1`. */
export function publicKeySignature(
  id: string,
  timestamp: string,
  body: Buffer,
  text: string,
): string {
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return `v1a,${sign(null, signed, signingKey(text)).toString("base64")}`;
}

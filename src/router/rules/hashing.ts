/**
 * Computes hashes of three kinds: of values that a rule replaces with a hash, of values by which calls are sampled,
 * and of IDs that a rule removes (docs/rules.md#hashing).
 *
 *   a value              what is hashed
 *   a string             its UTF-8 bytes, after `normalize`
 *   a number, a boolean  its JSON text
 *   an object            its JSON text without spaces
 *   a list               each entry, by this table
 *   null                 nothing: it stays null
 */

import { createHash, createHmac } from "node:crypto";

import type { Hashing } from "../../domain/rules.ts";
import type { JsonValue } from "./json-value.ts";

/** @returns JSON. */
export function hashed(value: JsonValue, hashing: Hashing): string {
  if (value.isNull) return "null";
  value.openAll();
  if (value.isList)
    return `[${value
      .entries()
      .map((entry) => hashed(entry, hashing))
      .join(",")}]`;
  const text = value.string();
  return `"${digest(text === null ? value.compact() : normalized(text, hashing), hashing)}"`;
}

function normalized(text: string, { normalize }: Hashing): string {
  if (normalize === "none") return text;
  return normalize === "trim" ? text.trim() : text.trim().toLowerCase();
}

function digest(text: string, { algorithm, secret }: Hashing): string {
  const hash = algorithm === "sha256" ? createHash("sha256") : createHmac("sha256", secret ?? "");
  return hash.update(text).digest("hex");
}

/** A call is kept if the first 8 bytes of its digest are below this number. */
export function keptBelow(share: number): bigint {
  // Multiplying a double by a power of two is exact.
  return BigInt(Math.ceil(share * 2 ** 64));
}

/** @param json the compact JSON of the value by which calls are sampled. */
export function isSampled(json: string, below: bigint): boolean {
  return createHash("md5").update(json).digest().readBigUInt64BE(0) < below;
}

/**
 * The key of a record for a destination that must not get the ID that would otherwise be the key. Every process
 * computes the same key from the same ID, so that a user's calls stay in order.
 */
export function keyOfDropped(id: string, secret: Buffer): string {
  return createHmac("sha256", secret).update(id).digest("hex");
}

/**
 * The secret for keys of removed IDs. It is derived from settings that are the same in every process and unknown to
 * receivers (docs/decisions/0048-exact-identifiers.md#keys-of-dropped-user-ids).
 */
export function droppedKeySecret(destination: string, secrets: readonly string[]): Buffer {
  const text = JSON.stringify(["keys of dropped IDs", destination, ...secrets.toSorted()]);
  return createHash("sha256").update(text).digest();
}

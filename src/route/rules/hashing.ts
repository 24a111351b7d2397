/**
 * Digests: of values that a rule hashes, of what a sample is drawn by, and of an ID that a rule drops
 * (docs/rules.md#hashing).
 *
 *   a value              is hashed as
 *   text                 its UTF-8, after `normalize`
 *   a number, a boolean  its JSON text
 *   an object            its JSON text without spaces
 *   a list               each of its entries, by this table
 *   null                 it stays
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

/** How many of the 2^64 values of a digest's first 8 bytes are kept. */
export function keptBelow(share: number): bigint {
  // A double times a power of two is exact.
  return BigInt(Math.ceil(share * 2 ** 64));
}

/** @param json the compact JSON of the value that the sample is drawn by. */
export function isSampled(json: string, below: bigint): boolean {
  return createHash("md5").update(json).digest().readBigUInt64BE(0) < below;
}

/**
 * Stands for an ID that a destination may not have, as the key of its records: equal for the same ID in every
 * process, so that order holds.
 */
export function keyOfDropped(id: string, secret: Buffer): string {
  return createHmac("sha256", secret).update(id).digest("hex");
}

/**
 * The secret of those keys. It is made of what all processes have in their configuration and receivers do not know
 * (docs/decisions/0056-keys-of-dropped-ids.md).
 */
export function droppedKeySecret(destination: string, secrets: readonly string[]): Buffer {
  const text = JSON.stringify(["keys of dropped IDs", destination, ...secrets.toSorted()]);
  return createHash("sha256").update(text).digest();
}

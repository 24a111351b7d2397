/**
 * Reads and writes records of the topic `suppressions` (docs/deletions.md#the-topic).
 *
 *   key                      value                               result
 *   a user ID in UTF-8       null                                lifted: the user is no longer suppressed
 *                            an object whose `userId` is the     suppressed since `suppressedAt`; without a valid one,
 *                              key, or absent                    since the time of the record
 *                            an object with another `userId`     invalid
 *                            not an object, not JSON             invalid
 *   the byte FF, 16 bytes    anything but null                   a key for user hashes (`user-header.ts`): these bytes
 *                            null                                invalid: keys are not removed
 *   null, empty, or not      any                                 invalid
 *     UTF-8
 *   any                      larger than the topic allows        invalid
 *
 * An invalid record is logged and has no effect: it neither suppresses nor lifts. No user ID has a key that starts with
 * FF, because UTF-8 does not contain that byte. A user ID with a lone surrogate has no UTF-8, so it cannot be suppressed.
 * As in calls, a number is an ID with all of its digits (`exact-ids.ts`).
 *
 * Processes create a key for user hashes if the topic contains none. If several do so at the same time, their records have
 * different keys, so compaction keeps all of them. Every process reads them all (`known-suppressions.ts`).
 */

import { isUtf8 } from "node:buffer";
import { decodeValue } from "../../domain/decode.ts";
import { isJsonObject, kindOf } from "../../domain/json.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import { isoTimestamp, readTimestamp } from "../../domain/timestamp.ts";

export const KEY_BYTES = 16;
export const REASON_MAX_CHARACTERS = 200;
const KEY_MARK = 0xff;
/** A value as commands write it for an ID of ASCII characters, none of which is escaped. */
const WRITTEN =
  /^\{"userId":"([ !#-[\]-~]+)","suppressedAt":"[\dTZ:.-]+"(?:,"reason":"[ !#-[\]-~]*")?\}$/;

export interface Suppression {
  readonly userId: string;
  readonly suppressedAtMs: number;
  readonly reason: string | null;
}

export type SuppressionRecord =
  | { readonly kind: "suppressed" | "lifted"; readonly userId: string }
  | { readonly kind: "key"; readonly key: Buffer }
  /** `error` does not quote the record. */
  | { readonly kind: "invalid"; readonly error: string };

export function readSuppression(record: IncomingRecord): SuppressionRecord {
  const { key, value } = record;
  if (record.omitted !== undefined) return invalid("the record is larger than the topic allows");
  if (key === null || key.length === 0) return invalid("the key is not a user ID");
  if (key[0] === KEY_MARK && key.length === KEY_BYTES + 1 && value !== null) {
    return { kind: "key", key: Buffer.from(key.subarray(1)) };
  }
  const userId = key.toString();
  // A process that starts may have to read a million records, so most of them are not parsed.
  if (value !== null && WRITTEN.exec(value.toString("latin1"))?.[1] === userId) {
    return { kind: "suppressed", userId };
  }
  if (!isUtf8(key)) return invalid("the key is not UTF-8");
  if (value === null) return { kind: "lifted", userId };
  const decoded = decodeValue({ value, headers: [] });
  if (decoded.kind === "refused") return invalid(decoded.error);
  const { json } = decoded;
  if (!isJsonObject(json)) return invalid(`the value is ${kindOf(json)}, expected an object`);
  const named = typeof json.userId === "number" ? `${json.userId}` : json.userId;
  if (named !== undefined && named !== userId) return invalid("userId in the value is not the key");
  return { kind: "suppressed", userId };
}

/** Reads the fields that only operators see. @param record a record that suppresses the user. */
export function suppressionOf(
  userId: string,
  { value, timestampMs }: Pick<IncomingRecord, "value" | "timestampMs">,
): Suppression {
  const decoded = decodeValue({ value, headers: [] });
  const json = decoded.kind === "json" && isJsonObject(decoded.json) ? decoded.json : {};
  const suppressedAtMs = readTimestamp(json.suppressedAt) ?? timestampMs;
  const reason = typeof json.reason === "string" ? cutReason(json.reason) : null;
  return { userId, suppressedAtMs, reason };
}

function invalid(error: string): SuppressionRecord {
  return { kind: "invalid", error };
}

function cutReason(reason: string): string {
  return Array.from(reason.slice(0, 2 * REASON_MAX_CHARACTERS))
    .slice(0, REASON_MAX_CHARACTERS)
    .join("");
}

/** Returns true if the user can be suppressed: the ID is not empty, and has a form in UTF-8. */
export function canBeSuppressed(userId: string): boolean {
  return userId !== "" && userId.isWellFormed();
}

export function suppressionRecord(topic: string, suppression: Suppression): OutgoingRecord {
  const { userId, suppressedAtMs, reason } = suppression;
  const suppressedAt = isoTimestamp(suppressedAtMs);
  const value = { userId, suppressedAt, ...(reason === null ? {} : { reason }) };
  return recordOf(topic, Buffer.from(userId), Buffer.from(JSON.stringify(value)));
}

export function liftRecord(topic: string, userId: string): OutgoingRecord {
  return recordOf(topic, Buffer.from(userId), null);
}

export function keyRecord(topic: string, key: Buffer): OutgoingRecord {
  return recordOf(topic, Buffer.from([KEY_MARK, ...key]), Buffer.from("{}"));
}

function recordOf(topic: string, key: Buffer, value: Buffer | null): OutgoingRecord {
  return { topic, partition: 0, key, value, headers: [] };
}

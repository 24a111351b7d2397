/** The content of a delivery's record: a call, or a delete notification from the deletion stage. */

import type { DeliveredCall } from "../../domain/call.ts";
import { decodeValue, type RecordValue } from "../../domain/decode.ts";
import { type Delivery, readDelivery } from "../../domain/delivery.ts";
import { isIdField } from "../../domain/exact-ids.ts";
import { isJsonObject } from "../../domain/json.ts";
import {
  type DeleteNotification,
  parseDelete,
  parseDeliveredCall,
} from "../../domain/parse-call.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";

export type ParsedContent =
  | {
      readonly kind: "content";
      readonly content: DeliveredCall | DeleteNotification;
      /** The call's or notification's JSON. */
      readonly text: string;
    }
  | {
      readonly kind: "refused";
      readonly reason: "undecodable" | "unknown-schema" | "invalid-call";
      readonly error: string;
    };

export function parseContent(record: RecordValue): ParsedContent {
  const decoded = decodeValue(record);
  if (decoded.kind === "refused") return decoded;
  const { json, text, bytes } = decoded;
  if (isJsonObject(json) && json.type === "delete") {
    const parsed = parseDelete(json);
    if (parsed.kind !== "delete") return parsed;
    return { kind: "content", content: parsed.notification, text };
  }
  const parsed = parseDeliveredCall(json, bytes.length);
  return parsed.kind === "call" ? { kind: "content", content: parsed.call, text } : parsed;
}

/**
 * True if a delivery must not be attempted, because its user is suppressed. The header decides if there is one, because a
 * destination's rules may have given the user ID of somebody else to the call.
 */
export function isSuppressed(
  { userHash }: Pick<Delivery, "userHash">,
  parsed: ParsedContent,
  suppressions: KnownSuppressions,
): boolean {
  if (parsed.kind === "refused" || parsed.content.type === "delete") return false;
  if (userHash !== null) return suppressions.matchesHeader(userHash);
  return suppressions.matches(parsed.content);
}

/** The delivery of a record that must not be attempted, because its user is suppressed; null if it may be. */
export function suppressedDelivery(
  record: RecordValue,
  suppressions: KnownSuppressions | undefined,
): Delivery | null {
  if (suppressions === undefined || suppressions.size === 0) return null;
  const read = readDelivery(record);
  if (read.kind === "invalid") return null;
  return isSuppressed(read.delivery, parseContent(record), suppressions) ? read.delivery : null;
}

/**
 * Very few calls contain 16 digits in a row. The pattern is written without a quantifier, because V8 then skips eight
 * characters at a time.
 */
const LONG_DIGITS = /\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d\d/;
/** A number of 16 or more digits. It may be inside a string, which a later check excludes. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;

/**
 * True if a call's JSON contains an integer beyond 2^53 that JavaScript would round. IDs do not count,
 * because their digits are kept.
 */
export function roundsIntegers(text: string): boolean {
  if (!LONG_DIGITS.test(text) || !LONG_NUMBER.test(text)) return false;
  const rounded: { readonly holder: unknown; readonly name: string }[] = [];
  const call: unknown = JSON.parse(
    text,
    function look(this: unknown, name: string, read: unknown, context?: { source?: string }) {
      const source = context?.source;
      if (typeof read === "number" && source !== undefined && /^-?\d{16,}$/.test(source)) {
        const isRounded = !Number.isFinite(read) || BigInt(source) !== BigInt(read);
        if (isRounded) rounded.push({ holder: this, name });
      }
      return read;
    },
  );
  return rounded.some(({ holder, name }) => holder !== call || !isIdField(name));
}

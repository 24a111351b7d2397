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
 * because their digits are kept. The text is read once, and without recursion, because it may be long and deeply nested.
 */
export function roundsIntegers(text: string): boolean {
  if (!LONG_DIGITS.test(text) || !LONG_NUMBER.test(text)) return false;
  let depth = 0;
  let [nameAt, nameEnd] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      if (depth === 1) [nameAt, nameEnd] = [at, end];
      at = end - 1;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      depth += 1;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
    } else if (isOfNumber(code)) {
      const start = at;
      while (isOfNumber(text.charCodeAt(at + 1))) at += 1;
      if (at - start < 15 || !isRounded(text.slice(start, at + 1))) continue;
      // At the top level, the string before a number is the name of its field.
      const isId = depth === 1 && isIdField(JSON.parse(text.slice(nameAt, nameEnd)) as string);
      if (!isId) return true;
    }
  }
  return false;
}

const QUOTE = 0x22;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Digits, signs and the dot; `e` and `E` are also in words, which have no 16 characters. */
function isOfNumber(code: number): boolean {
  if (code >= 0x30 && code <= 0x39) return true;
  return code === 0x2d || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45;
}

function isRounded(token: string): boolean {
  if (!/^-?\d{16,}$/.test(token)) return false;
  const read = Number(token);
  return !Number.isFinite(read) || BigInt(token) !== BigInt(read);
}

/** The index after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let quote = text.indexOf('"', at); quote !== -1; quote = text.indexOf('"', at)) {
    let escapes = quote;
    while (text[escapes - 1] === "\\") escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
  return text.length;
}

/** What a delivery's record holds: a call, or a delete notification of the deletion stage. */

import type { Call } from "../domain/call.ts";
import { decodeValue } from "../domain/decode.ts";
import { isJsonObject } from "../domain/json.ts";
import { parseCall } from "../domain/parse-call.ts";
import { type DeleteNotification, parseDelete } from "../domain/parse-delete.ts";

export type Webhook = Call | DeleteNotification;

export type ParsedWebhook =
  | { readonly kind: "webhook"; readonly webhook: Webhook }
  | {
      readonly kind: "refused";
      readonly reason: "undecodable" | "unknown-schema" | "invalid-call";
      readonly error: string;
    };

export function parseWebhook(value: Buffer | null): ParsedWebhook {
  const decoded = decodeValue(value);
  if (decoded.kind === "refused") return decoded;
  const { json } = decoded;
  if (isJsonObject(json) && json.type === "delete") {
    const parsed = parseDelete(json);
    return parsed.kind === "delete" ? { kind: "webhook", webhook: parsed.notification } : parsed;
  }
  const parsed = parseCall(json, value?.length);
  return parsed.kind === "call" ? { kind: "webhook", webhook: parsed.call } : parsed;
}

/** A number of 16 or more digits, wherever it stands; texts are sorted out by the second look. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;

/**
 * Whether JSON holds an integer that JavaScript rounds: beyond 2^53 and not one of the few it can
 * say exactly. The receiver would otherwise wonder why an id has changed.
 */
export function roundsIntegers(value: Buffer): boolean {
  // Latin-1 is the cheapest way to text, and digits are the same in it.
  if (!LONG_NUMBER.test(value.toString("latin1"))) return false;
  let isRounded = false;
  JSON.parse(value.toString(), (_key, read: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof read === "number" && source !== undefined && /^-?\d{16,}$/.test(source)) {
      isRounded ||= !Number.isFinite(read) || BigInt(source) !== BigInt(read);
    }
    return read;
  });
  return isRounded;
}

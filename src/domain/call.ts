/**
 * A call: one identify, track, page, screen, group or alias from an application (docs/calls.md).
 * `parse-call.ts` reads it.
 *
 *   field                                  read as
 *   userId, anonymousId, groupId,          a string; a finite number becomes a string (`exact-ids.ts`)
 *     previousId
 *   event, name, category                  a string; a finite number becomes a string in a category and in
 *                                          a screen's name
 *   properties, traits, context            an object; an empty list counts as absent
 *   messageId                              a string of at most 100 characters, a number becomes a string;
 *                                          anything else counts as absent
 *   integrations                           an object; anything else counts as absent, and `Integrations`
 *                                          (the spelling of Segment's Go library) is read instead
 *   timestamp, originalTimestamp,          kept as sent; `call-time.ts` reads them, and one that cannot
 *     sentAt, receivedAt                   be read never makes the call invalid
 *
 * Null and the empty string count as absent everywhere. If any field has the wrong type, the call is invalid, so
 * that no destination gets an incomplete call. In a page call, `traits` are read as `properties`. In an identify
 * call without `traits`, `context.traits` are read instead. Other fields of a call are ignored.
 */

import type { MessageId } from "./ids.ts";
import type { JsonObject } from "./json.ts";

export const CALL_TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;

export type CallType = (typeof CALL_TYPES)[number];

/** Who the call is about: a user, or a visitor without a user ID. */
export type Caller =
  | { readonly userId: string; readonly anonymousId: string | null }
  | { readonly userId: null; readonly anonymousId: string };

/** A field is null if it is absent. Strings are never empty; objects are unchanged from JSON.parse. */
export interface CallFields {
  readonly messageId: MessageId | null;
  readonly groupId: string | null;
  readonly previousId: string | null;
  readonly event: string | null;
  readonly name: string | null;
  readonly category: string | null;
  readonly properties: JsonObject | null;
  readonly traits: JsonObject | null;
  readonly context: JsonObject | null;
  readonly integrations: JsonObject | null;
  /** The timestamp as it was sent, even if it cannot be read; undefined if absent. */
  readonly timestamp: unknown;
  readonly originalTimestamp: unknown;
  readonly sentAt: unknown;
  readonly receivedAt: unknown;
}

/** The fields that each type requires in addition to a caller. */
export type ByType =
  | { readonly type: "identify" | "page" | "screen" }
  | { readonly type: "track"; readonly event: string }
  | { readonly type: "group"; readonly groupId: string }
  | { readonly type: "alias"; readonly userId: string; readonly previousId: string };

export type Call = CallFields & Caller & ByType;

/**
 * A call as it is delivered. IDs that are required on `calls` may be missing, because a destination's rules can
 * remove them (docs/rules.md).
 */
export type DeliveredCall = CallFields & {
  readonly userId: string | null;
  readonly anonymousId: string | null;
} & (
    | { readonly type: "identify" | "page" | "screen" | "alias" }
    | { readonly type: "track"; readonly event: string }
    | { readonly type: "group"; readonly groupId: string }
  );

/** `error` is a sentence for operators that names the field and its problem, but not its value. */
export interface InvalidCall {
  readonly kind: "refused";
  readonly reason: "invalid-call";
  readonly error: string;
}

export type ParsedCall = { readonly kind: "call"; readonly call: Call } | InvalidCall;

/** The key of the call's records: the user ID or, if there is none, the anonymous ID. */
export function callKey(call: Caller): string {
  return call.userId === null ? call.anonymousId : call.userId;
}

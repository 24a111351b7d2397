/**
 * A call: one identify, track, page, screen, group or alias made by an application (docs/calls.md).
 * `parse-call.ts` reads it.
 *
 *   field                                  read as
 *   userId, anonymousId, groupId,          text; a finite number becomes text (`exact-ids.ts`)
 *     previousId
 *   event, name, category                  text; a finite number becomes text in a category and in
 *                                          a screen's name
 *   properties, traits, context            an object; an empty list counts as absent
 *   messageId                              text of at most 100 characters, a number becomes text;
 *                                          anything else counts as absent
 *   integrations                           an object; anything else counts as absent, and
 *                                          `Integrations` (the Go struct's spelling) is read instead
 *   timestamp, originalTimestamp,          kept as given; `call-time.ts` reads them, and one that
 *     sentAt, receivedAt                   cannot be read never costs the call
 *
 * Null and empty text count as absent everywhere. A field of the wrong type is refused whatever the
 * type of the call, so that no destination gets half of what was meant. A page's `traits` are read
 * as its `properties`, and `context.traits` as those of an identify that has none. Other fields of a call are not passed to anybody.
 */

import type { MessageId } from "./ids.ts";
import type { JsonObject } from "./json.ts";

export const CALL_TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;

export type CallType = (typeof CALL_TYPES)[number];

/** The caller: a user, or somebody who has no user id yet. */
export type Caller =
  | { readonly userId: string; readonly anonymousId: string | null }
  | { readonly userId: null; readonly anonymousId: string };

/** Null: absent. Texts are never empty; objects are as JSON.parse made them. */
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
  /** As given, readable or not; undefined when absent. */
  readonly timestamp: unknown;
  readonly originalTimestamp: unknown;
  readonly sentAt: unknown;
  readonly receivedAt: unknown;
}

/** The fields that each type needs besides a caller. */
export type ByType =
  | { readonly type: "identify" | "page" | "screen" }
  | { readonly type: "track"; readonly event: string }
  | { readonly type: "group"; readonly groupId: string }
  | { readonly type: "alias"; readonly userId: string; readonly previousId: string };

export type Call = CallFields & Caller & ByType;

/**
 * A call as it is delivered. A destination's rules may have taken identifiers away (docs/rules.md), so that it lacks
 * what a call needs on `calls`.
 */
export type DeliveredCall = CallFields & {
  readonly userId: string | null;
  readonly anonymousId: string | null;
} & (
    | { readonly type: "identify" | "page" | "screen" | "alias" }
    | { readonly type: "track"; readonly event: string }
    | { readonly type: "group"; readonly groupId: string }
  );

/** `error` is a sentence for people: the field and what is wrong with it, without its value. */
export interface InvalidCall {
  readonly kind: "refused";
  readonly reason: "invalid-call";
  readonly error: string;
}

export type ParsedCall = { readonly kind: "call"; readonly call: Call } | InvalidCall;

/** The key of the call's records: the user's, else the anonymous id. */
export function callKey(call: Caller): string {
  return call.userId === null ? call.anonymousId : call.userId;
}

/**
 * Types for kinds of IDs that must not be confused, although all of them are strings at run time.
 *
 * A value gets its brand only from the parser that checks it.
 */

declare const brand: unique symbol;
type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

/** Identifies a configured destination; consists of lowercase letters, digits and dashes. */
export type DestinationId = Brand<string, "DestinationId">;
/** A configured source. */
export type SourceId = Brand<string, "SourceId">;
/** Identifies a call; at most 100 characters. A call keeps its message ID in every attempt and after every replay. */
export type MessageId = Brand<string, "MessageId">;
/** The first 16 hex digits of the SHA-256 of an endpoint's URL (`endpoint-name.ts`). */
export type EndpointKey = Brand<string, "EndpointKey">;
/** Names an endpoint in a delivery that is sent only to this endpoint (`endpoint-name.ts`). */
export type EndpointRef = Brand<string, "EndpointRef">;

const DESTINATION_ID = /^[a-z0-9-]{1,64}$/;

/** Returns true if a string from outside the program is a valid ID. Only valid IDs become metric labels. */
export function isDestinationId(text: string): text is DestinationId {
  return DESTINATION_ID.test(text);
}

/**
 * Types for IDs that must not be confused, although each is a string at run time.
 *
 * Only the parser that checks a value gives it its brand.
 */

declare const brand: unique symbol;
type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

/** A configured destination: lowercase letters, digits and dashes. */
export type DestinationId = Brand<string, "DestinationId">;
/** A configured source. */
export type SourceId = Brand<string, "SourceId">;
/** Identifies a call; at most 100 characters. The same for every attempt and after every replay. */
export type MessageId = Brand<string, "MessageId">;
/** The first 16 hex digits of the SHA-256 of an endpoint's URL. */
export type EndpointKey = Brand<string, "EndpointKey">;

const DESTINATION_ID = /^[a-z0-9-]{1,64}$/;

/** Returns true if an external string is a valid ID. Only valid IDs become metric labels. */
export function isDestinationId(text: string): text is DestinationId {
  return DESTINATION_ID.test(text);
}

/**
 * Decides which records belong to a call, and parses these records for `readTimeline`.
 *
 *   a record of                                       belongs to the call if
 *   calls                                             its call has the message ID; for a call without a message ID, the
 *                                                     position of the record is the ID
 *   deliveries.*, retries.*, delays.*, dead-letters   its header `switchyard-message-id` has the message ID
 *   dead-letters, from stages before route            it was dead-lettered at the position of the call's record
 *   attempts                                          its key is the message ID
 *
 * These records are only shown, and no decision depends on them, because anyone who may write to a topic can write
 * records that look like Switchyard's own.
 */

import type { AttemptRecord } from "../../domain/attempt-record.ts";
import { DEAD_LETTER_HEADER } from "../../domain/dead-letter.ts";
import { type Delivery, readDelivery } from "../../domain/delivery.ts";
import { type IncomingRecord, placeOf, type RecordPlace } from "../../domain/record.ts";

/** A call, as the current configuration reads and routes it. */
export type CallFacts =
  | {
      readonly kind: "call";
      readonly messageId: string;
      readonly type: string;
      readonly event: string | null;
      readonly source: string;
      /** How the source was found. */
      readonly namedBy: string;
      readonly receivedAtMs: number;
      /** The keys that the call's deliveries can have: the key of the call, and the keys that rules create from it. */
      readonly keys: readonly string[];
      /** The IDs of the users whose suppression applies to the call. */
      readonly userIds: readonly string[];
      /** The decisions for the destinations of the call's source. */
      readonly destinations: readonly Routing[];
    }
  | { readonly kind: "unusable"; readonly reason: string; readonly error: string };

export interface Routing {
  readonly destination: string;
  readonly gets: boolean;
  /** A sentence, as in `explain`. */
  readonly why: string;
}

export interface FoundCall {
  readonly place: RecordPlace;
  readonly atMs: number;
  readonly facts: CallFacts;
}

/** A delivery on a topic of its destination. */
export interface FoundDelivery {
  readonly place: RecordPlace;
  /** When the record was written. */
  readonly atMs: number;
  readonly delivery: Delivery;
}

export interface FoundScheduledRetry extends FoundDelivery {
  readonly delay: string;
  /** True if the delivery has not been attempted, but was rerouted because its topic was not writable. */
  readonly isRerouted: boolean;
}

export interface FoundDeadLetter {
  readonly place: RecordPlace;
  readonly atMs: number;
  readonly stage: string;
  readonly reason: string;
  readonly error: string;
  /** Null if the record was not a delivery. */
  readonly delivery: Delivery | null;
  /** The position of the record that was dead-lettered. */
  readonly from: string;
}

export interface Evidence {
  readonly messageId: string;
  readonly calls: readonly FoundCall[];
  /** On `deliveries.*`. */
  readonly queued: readonly FoundDelivery[];
  readonly retries: readonly FoundDelivery[];
  readonly scheduledRetries: readonly FoundScheduledRetry[];
  readonly deadLetters: readonly FoundDeadLetter[];
  /** Null if the attempts topic does not exist. */
  readonly attempts: readonly AttemptRecord[] | null;
  /**
   * Returns true if the consumer has processed the record at this position; null if that is unknown. Records that
   * were processed out of order count as unprocessed.
   */
  readonly isFinished: (place: RecordPlace) => boolean | null;
  /** For each position in a queue where a delivery waits behind an earlier one of its user, the message ID of that one. */
  readonly behind?: ReadonlyMap<string, string>;
  /** The topic destinations. The records on their topics are for consumers outside Switchyard. */
  readonly topicDestinations: ReadonlySet<string>;
  /** The earliest time that was searched. */
  readonly sinceMs: number;
  /** The time from which the call's user has been suppressed; absent or null if the user is not suppressed. */
  readonly suppressedAtMs?: number | null;
}

/** Returns null if the record belongs to another call, or is not a delivery. */
export function foundDelivery(record: IncomingRecord, messageId: string): FoundDelivery | null {
  const read = readDelivery(record);
  if (read.kind === "invalid" || read.delivery.messageId !== messageId) return null;
  return { place: placeOf(record), atMs: record.timestampMs, delivery: read.delivery };
}

/** @param calls the positions of the call's records. */
export function foundDeadLetter(
  record: IncomingRecord,
  messageId: string,
  calls: ReadonlySet<string>,
): FoundDeadLetter | null {
  const texts = new Map<string, string>();
  for (const [name, value] of record.headers) if (value) texts.set(name, value.toString());
  const text = (name: string) => texts.get(name) ?? "";
  const topic = text(DEAD_LETTER_HEADER.topic);
  const partition = text(DEAD_LETTER_HEADER.partition);
  const from = `${topic}/${partition}/${text(DEAD_LETTER_HEADER.offset)}`;
  const found = foundDelivery(record, messageId);
  if (found === null && !calls.has(from)) return null;
  const failedAt = text(DEAD_LETTER_HEADER.failedAt);
  return {
    place: placeOf(record),
    atMs: /^\d{1,15}$/.test(failedAt) ? Number(failedAt) : record.timestampMs,
    stage: text(DEAD_LETTER_HEADER.stage),
    reason: text(DEAD_LETTER_HEADER.reason),
    error: text(DEAD_LETTER_HEADER.error),
    delivery: found?.delivery ?? null,
    from,
  };
}

export function placeText({ topic, partition, offset }: RecordPlace): string {
  return `${topic}/${partition}/${offset}`;
}

const PLAIN = /[\w.:@+=~-]+/g;
/** Parts of an ID that are shorter than this occur in too many values to be useful for a search. */
const PART_MIN = 3;

/**
 * Quickly excludes records that cannot belong to the call, because a topic can contain millions of calls.
 *
 *   the message ID                                       a call is parsed as JSON if its value contains
 *   has only characters that JSON writes unchanged       the bytes of the ID
 *   has others, such as `/` or `é`                       the bytes of its longest part without them
 *   has only others                                      any bytes
 *
 * JSON allows any character to be escaped, even a plain letter. If a call was written with such escapes, it is not
 * found, but no known library escapes plain letters. On all other topics, the message ID is in a header, unchanged.
 */
type Prefilter = (bytes: Buffer | null | undefined) => boolean;

/** Tests the value of a call. */
export function mayBeCall(messageId: string): Prefilter {
  const parts = messageId.match(PLAIN) ?? [];
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), "");
  if (longest.length < Math.min(PART_MIN, messageId.length)) return (bytes) => bytes !== null;
  return hasBytes(longest);
}

/** Tests a record in the form in which Kafka encodes it. A record that is not available in this form always passes. */
export function mayCarry(messageId: string): Prefilter {
  const prefilter = hasBytes(messageId);
  return (bytes) => bytes === undefined || prefilter(bytes);
}

function hasBytes(text: string): Prefilter {
  const wanted = Buffer.from(text);
  return (bytes) => bytes?.includes(wanted) === true;
}

/** Parses an ID that is the position of a call without a message ID; null if the ID is not a position. */
export function placeIn(
  messageId: string,
  callsTopic: string,
): { readonly partition: number; readonly offset: number } | null {
  if (!messageId.startsWith(`${callsTopic}/`)) return null;
  const found = /^(\d{1,9})\/(\d{1,15})$/.exec(messageId.slice(callsTopic.length + 1));
  return found === null ? null : { partition: Number(found[1]), offset: Number(found[2]) };
}

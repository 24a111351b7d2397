/**
 * The records that tell of one call, as `readTimeline` finds them, and the reading of one of them.
 *
 *   a record of                                       is evidence if
 *   calls                                             its call has the message id; without one of its
 *                                                     own, a call has the place of its record as its id
 *   deliveries.*, retries.*, delays.*, dead-letters   its header `switchyard-message-id` says so
 *   dead-letters, of a stage before route             the place that it was given up at is the call's
 *   attempts                                          it is keyed by the message id
 *
 * Nothing here is believed further than that it is shown: who may write to a topic can write a
 * record that looks like one of ours.
 */

import type { AttemptRecord } from "../../domain/attempt-record.ts";
import { DEAD_LETTER_HEADER } from "../../domain/dead-letter.ts";
import { type Delivery, readDelivery } from "../../domain/delivery.ts";
import type { IncomingRecord, RecordPlace } from "../../domain/record.ts";

/** A call as route reads and routes it by the configuration of now. */
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
      /** Of its deliveries: its own, and those that rules make of it. */
      readonly keys: readonly string[];
      /** Of its source. */
      readonly destinations: readonly Routing[];
    }
  | { readonly kind: "unusable"; readonly reason: string; readonly error: string };

export interface Routing {
  readonly destination: string;
  readonly gets: boolean;
  /** A sentence, as `explain` says it. */
  readonly why: string;
}

export interface FoundCall {
  readonly place: RecordPlace;
  readonly atMs: number;
  readonly facts: CallFacts;
}

/** A delivery on one of its topics. */
export interface FoundDelivery {
  readonly place: RecordPlace;
  /** When the record was written. */
  readonly atMs: number;
  readonly delivery: Delivery;
}

export interface FoundScheduledRetry extends FoundDelivery {
  readonly delay: string;
  /** It never was attempted: its topic took nothing, and it went around it. */
  readonly isRerouted: boolean;
}

export interface FoundDeadLetter {
  readonly place: RecordPlace;
  readonly atMs: number;
  readonly stage: string;
  readonly reason: string;
  readonly error: string;
  /** Null: the record was no delivery. */
  readonly delivery: Delivery | null;
  /** Where the record stood that was given up. */
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
  /** Null: there is no topic of attempts. */
  readonly attempts: readonly AttemptRecord[] | null;
  /**
   * Whether the consumer of the place has finished the record; null: that is not known. Records
   * finished out of order count as unfinished.
   */
  readonly isFinished: (place: RecordPlace) => boolean | null;
  /** Destinations of type topic: what is on their topic is there for somebody else to take. */
  readonly topicDestinations: ReadonlySet<string>;
  /** The first instant that was looked at. */
  readonly sinceMs: number;
}

/** Null: it is of another call, or no delivery. */
export function foundDelivery(record: IncomingRecord, messageId: string): FoundDelivery | null {
  const read = readDelivery(record);
  if (read.kind === "invalid" || read.delivery.messageId !== messageId) return null;
  return { place: placeOf(record), atMs: record.timestampMs, delivery: read.delivery };
}

/** @param calls places of the call's records. */
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

export function placeOf({ topic, partition, offset }: RecordPlace): RecordPlace {
  return { topic, partition, offset };
}

export function placeText({ topic, partition, offset }: RecordPlace): string {
  return `${topic}/${partition}/${offset}`;
}

const PLAIN = /[\w.:@+=~-]+/g;
/** Shorter parts are in too many values to be of use. */
const PART_MIN = 3;

/**
 * Finds out quickly that a record cannot be of the call, since a day of calls is many.
 *
 *   the message id                                 a call is read as JSON if its value has
 *   has only characters that JSON writes as are    its bytes
 *   has others, such as `/` or `é`                 the bytes of its longest part without them
 *   has nothing but others                         any bytes
 *
 * JSON may write any character as an escape, also a plain letter. No library of ours or others does:
 * such a call is not found. On all other topics the id is in a header, as it is.
 */
type Prefilter = (bytes: Buffer | null | undefined) => boolean;

/** Of the value of a call. */
export function mayBeCall(messageId: string): Prefilter {
  const parts = messageId.match(PLAIN) ?? [];
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), "");
  if (longest.length < Math.min(PART_MIN, messageId.length)) return (bytes) => bytes !== null;
  return hasBytes(longest);
}

/** Of a record as Kafka encodes it; one that is not at hand so is looked at in any case. */
export function mayCarry(messageId: string): Prefilter {
  const prefilter = hasBytes(messageId);
  return (bytes) => bytes === undefined || prefilter(bytes);
}

function hasBytes(text: string): Prefilter {
  const wanted = Buffer.from(text);
  return (bytes) => bytes?.includes(wanted) === true;
}

/** The place that a call without an id of its own is named by; null: the id names none. */
export function placeIn(
  messageId: string,
  callsTopic: string,
): { readonly partition: number; readonly offset: number } | null {
  if (!messageId.startsWith(`${callsTopic}/`)) return null;
  const found = /^(\d{1,9})\/(\d{1,15})$/.exec(messageId.slice(callsTopic.length + 1));
  return found === null ? null : { partition: Number(found[1]), offset: Number(found[2]) };
}

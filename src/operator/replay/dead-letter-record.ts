/**
 * Reads a record of `dead-letters` for lists and replays. Because any program may have written the record, absent
 * headers are read as empty or null.
 */

import { DEAD_LETTER_HEADER, type DeadLetterReason } from "../../domain/dead-letter.ts";
import { decodeValue } from "../../domain/decode.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { DestinationId, EndpointRef } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { destinationOfTopic, type TopicNames } from "../../domain/topics.ts";

export interface DeadLetter {
  readonly record: IncomingRecord;
  /** `deliver`, `route`, ... */
  readonly stage: string;
  readonly reason: string;
  /** One sentence. */
  readonly error: string;
  /** The time in the header; if that is missing, the record's time. */
  readonly failedAtMs: number;
  /** The position of the record that was dead-lettered. */
  readonly from: {
    readonly topic: string;
    readonly partition: number | null;
    readonly offset: number | null;
  };
  /**
   * Null if the record was not a delivery. As in the deliver stage, the destination is taken from the topic instead
   * of the record's headers, except for delay topics, whose name contains no destination.
   */
  readonly destination: DestinationId | null;
  readonly endpoint: EndpointRef | null;
  /** The endpoints that accepted it. */
  readonly accepted: readonly EndpointRef[];
  /** The message ID in the header; `messageIdOf` also reads the value. */
  readonly messageId: string | null;
}

export function readDeadLetter(
  record: IncomingRecord,
  topics: Pick<TopicNames, "deliveries" | "retries">,
): DeadLetter {
  const found = new Map<string, string>();
  for (const [name, value] of record.headers) if (value) found.set(name, value.toString());
  const text = (name: string) => found.get(name) ?? "";
  const topic = text(DEAD_LETTER_HEADER.topic);
  const stage = text(DEAD_LETTER_HEADER.stage);
  const named = found.get(DELIVERY_HEADER.destination) ?? null;
  // If the header is missing, the delivery was on a topic of its destination when it was dead-lettered.
  const stood = destinationOfTopic(topic, topics);
  const destination = stage === "deliver" ? (stood ?? named) : (named ?? stood);
  return {
    record,
    stage,
    reason: text(DEAD_LETTER_HEADER.reason),
    error: text(DEAD_LETTER_HEADER.error),
    failedAtMs: whole(text(DEAD_LETTER_HEADER.failedAt)) ?? record.timestampMs,
    from: {
      topic,
      partition: whole(text(DEAD_LETTER_HEADER.partition)),
      offset: whole(text(DEAD_LETTER_HEADER.offset)),
    },
    destination: destination as DestinationId | null,
    endpoint: (found.get(DELIVERY_HEADER.endpoint) ?? null) as EndpointRef | null,
    accepted: acceptedIn(found.get(DELIVERY_HEADER.accepted) ?? null),
    messageId: found.get(DELIVERY_HEADER.messageId) ?? null,
  };
}

function acceptedIn(header: string | null): readonly EndpointRef[] {
  return (header === null || header === "" ? [] : header.split(";")) as EndpointRef[];
}

/**
 * The message ID in the header. If there is none, and the value is a call in JSON, the message ID that the route stage
 * would read from it. A value with a schema can be read only with that schema (`dead-letter-schemas.ts`).
 */
export function messageIdOf({ messageId, record }: DeadLetter): string | null {
  if (messageId !== null || record.value === null) return messageId;
  const decoded = decodeValue(record);
  if (decoded.kind === "refused" || typeof decoded.json !== "object") return null;
  const own = (decoded.json as { readonly messageId?: unknown } | null)?.messageId;
  if (typeof own === "number" && Number.isFinite(own)) return `${own}`;
  return typeof own === "string" && own !== "" ? own : null;
}

/**
 * A dead letter is selected if it passes all filters that are set:
 *
 *   filter        passes
 *   destinations  one of these; a dead letter without a destination passes none
 *   reasons       one of these
 *   messageIds    one of these, in the header or in the call itself; if the call has a schema of a
 *                 registry, only if the value is read with that schema
 *   sinceMs       dead-lettered at this time or later
 *   untilMs       dead-lettered before this time
 */
export interface DeadLetterFilter {
  /** If empty, dead letters of all destinations pass. The same applies to reasons and message IDs. */
  readonly destinations: readonly string[];
  readonly reasons: readonly DeadLetterReason[];
  readonly messageIds: readonly string[];
  /** Null for no limit. */
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
}

export const EVERY_DEAD_LETTER: DeadLetterFilter = {
  destinations: [],
  reasons: [],
  messageIds: [],
  sinceMs: null,
  untilMs: null,
};

export function passes(deadLetter: DeadLetter, filter: DeadLetterFilter): boolean {
  const { destinations, reasons, messageIds, sinceMs, untilMs } = filter;
  if (sinceMs !== null && deadLetter.failedAtMs < sinceMs) return false;
  if (untilMs !== null && deadLetter.failedAtMs >= untilMs) return false;
  if (!isOneOf(deadLetter.reason, reasons)) return false;
  if (!isOneOf(deadLetter.destination, destinations)) return false;
  // This filter is last, because it may have to read the value.
  return messageIds.length === 0 || isOneOf(messageIdOf(deadLetter), messageIds);
}

/** Reads the value of a dead letter that has a schema, to find the message ID. */
export type ReadDeadLetterValue = (deadLetter: DeadLetter) => DeadLetter | Promise<DeadLetter>;

/**
 * Returns the dead letter if it passes the filter, otherwise null. The value is read only if the dead letter passes
 * all other filters.
 */
export async function passing(
  deadLetter: DeadLetter,
  filter: DeadLetterFilter,
  read: ReadDeadLetterValue | undefined,
): Promise<DeadLetter | null> {
  if (filter.messageIds.length === 0 || read === undefined) {
    return passes(deadLetter, filter) ? deadLetter : null;
  }
  if (!passes(deadLetter, { ...filter, messageIds: [] })) return null;
  const whole = await read(deadLetter);
  return passes(whole, filter) ? whole : null;
}

function isOneOf(given: string | null, wanted: readonly string[]): boolean {
  return wanted.length === 0 || (given !== null && wanted.includes(given));
}

function whole(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

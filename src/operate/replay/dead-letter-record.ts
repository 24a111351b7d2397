/**
 * Reads a record of `dead-letters` for lists and replays. Any program may have written the record, so an absent header
 * is read as empty or null.
 */

import { DEAD_LETTER_HEADER, type DeadLetterReason } from "../../domain/dead-letter.ts";
import { decodeValue } from "../../domain/decode.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { destinationOfTopic, type TopicNames } from "../../domain/topics.ts";

export interface DeadLetter {
  readonly record: IncomingRecord;
  /** `deliver`, `route`, ... */
  readonly stage: string;
  readonly reason: string;
  /** One sentence. */
  readonly error: string;
  /** The time of the record if its header has none. */
  readonly failedAtMs: number;
  /** The position of the record that was dead-lettered. */
  readonly from: {
    readonly topic: string;
    readonly partition: number | null;
    readonly offset: number | null;
  };
  /**
   * Null if the record was not a delivery. The deliver stage takes the destination from the topic, not from the
   * record's headers. For delay topics, only the headers name the destination.
   */
  readonly destination: DestinationId | null;
  readonly endpoint: string | null;
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
  // A delivery without the header was still on a topic of its destination when it was dead-lettered.
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
    endpoint: found.get(DELIVERY_HEADER.endpoint) ?? null,
    messageId: found.get(DELIVERY_HEADER.messageId) ?? null,
  };
}

/**
 * The message ID in the header; if there is none, the call's message ID if the value is a JSON call, read as in the
 * route stage. A value with a schema can only be read with the schema (`filter.ts`).
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
 * Chooses dead letters. A dead letter is chosen if it passes each filter that is set:
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
  /** Empty means all. The same applies to reasons and message IDs. */
  readonly destinations: readonly string[];
  readonly reasons: readonly DeadLetterReason[];
  readonly messageIds: readonly string[];
  /** Null means no limit. */
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

/** Reads the value of a dead letter that has a schema, so that its message ID is known. */
export type ReadDeadLetterValue = (deadLetter: DeadLetter) => DeadLetter | Promise<DeadLetter>;

/** The dead letter if it passes, otherwise null. The value is read only if the dead letter passes all other filters. */
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

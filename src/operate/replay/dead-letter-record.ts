/**
 * A record of `dead-letters` as people and replay look at it. It can be read whichever program
 * wrote it: a header that is absent is empty or null here.
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
  /** The time of the record where its header does not say. */
  readonly failedAtMs: number;
  /** Where the record stood that was given up. */
  readonly from: {
    readonly topic: string;
    readonly partition: number | null;
    readonly offset: number | null;
  };
  /**
   * Null for records that were no deliveries. Deliver requests the destination whose topic the
   * record is on, whatever the record says. On its way through delay topics only the record says
   * it.
   */
  readonly destination: DestinationId | null;
  readonly endpoint: string | null;
  /** As its header says; `messageIdOf` looks into the value as well. */
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
  // A delivery that lacks the header was still on one of its destination's topics.
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
 * The header's, else the call's own where the value is a call in JSON that has one, read as route
 * does. A value that needs a schema has one only with that (`filter.ts`).
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
 * Which dead letters are chosen. One is chosen if it passes each filter that is set:
 *
 *   filter        passes
 *   destinations  one of these; a dead letter without a destination passes none
 *   reasons       one of these
 *   messageIds    one of these, in the header or in the call itself; if the call has a schema of a
 *                 registry, only if its value is read with it
 *   sinceMs       dead-lettered at this time or later
 *   untilMs       dead-lettered before this time
 */
export interface DeadLetterFilter {
  /** Empty: all; so are reasons and message ids. */
  readonly destinations: readonly string[];
  readonly reasons: readonly DeadLetterReason[];
  readonly messageIds: readonly string[];
  /** Null: no limit. */
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
  // Last, because it may have to read the value.
  return messageIds.length === 0 || isOneOf(messageIdOf(deadLetter), messageIds);
}

/** Reads the value of a letter that has a schema, so that its message id is known. */
export type ReadDeadLetterValue = (deadLetter: DeadLetter) => DeadLetter | Promise<DeadLetter>;

/** The letter if it passes, else null. Its value is read only if nothing but that is left to see. */
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

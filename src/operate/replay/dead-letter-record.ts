/**
 * A record of `dead-letters` as people and replay look at it. It can be read whichever program
 * wrote it: a header that is absent is empty or null here.
 */

import { DEAD_LETTER_HEADER } from "../../domain/dead-letter.ts";
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

function whole(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

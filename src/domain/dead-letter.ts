/**
 * A dead letter: a delivery or record given up. Its value is the original one, untouched. Headers
 * say why it was given up and where it came from (docs/guarantees.md#dead-letters). Where a cluster
 * allows no larger records than calls, it is compressed rather than written without its value.
 */

import type { OutgoingRecord, RecordContent, RecordHeaders, RecordPlace } from "./record.ts";
import type { StageName } from "./stages.ts";

/** Each reason with the sentence that `docs/guarantees.md` prints. */
export const DEAD_LETTER_REASONS = {
  undecodable: "The value is not UTF-8, not JSON, or absent.",
  "unknown-schema": "The value names a schema that is not known here.",
  "invalid-call": "The value is JSON but no valid call, or a delivery lacks a header it needs.",
  "unknown-source": "The record names no source, or one that is not configured.",
  "unknown-destination": "The delivery's destination, endpoint or topic is gone.",
  "rule-failed": "A rule of a destination could not be evaluated. The dead letter has no value.",
  "invalid-sync": "The record on `audience-syncs` breaks the protocol.",
  "invalid-deletion": "The record on `deletion-requests` is no valid request.",
  "too-large": "A record that would have to be written is larger than the broker takes.",
  rejected: "Every endpoint answered with a status that is not tried again.",
  cancelled: "Somebody cancelled the deliveries that waited for its destination.",
  expired: "No endpoint accepted the delivery within the window.",
} as const;

export type DeadLetterReason = keyof typeof DEAD_LETTER_REASONS;

/** Headers that a dead letter adds. */
export const DEAD_LETTER_HEADER = {
  stage: "switchyard-stage",
  reason: "switchyard-reason",
  error: "switchyard-error",
  failedAt: "switchyard-failed-at",
  topic: "switchyard-topic",
  partition: "switchyard-partition",
  offset: "switchyard-offset",
} as const;

export interface DeadLetterCause {
  readonly stage: StageName;
  readonly reason: DeadLetterReason;
  /** One sentence that says the mistake and its place. No secret, no payload. */
  readonly error: string;
  readonly failedAtMs: number;
}

const ADDED: ReadonlySet<string> = new Set(Object.values(DEAD_LETTER_HEADER));

/**
 * The record to write for a record given up.
 *
 * @param headers what the dead letter keeps of the record's headers, by default all; headers of
 *   an earlier dead letter are replaced.
 */
export function deadLetter(
  topic: string,
  record: RecordPlace & RecordContent,
  cause: DeadLetterCause,
  headers: RecordHeaders = record.headers,
): OutgoingRecord {
  const text = (name: string, value: string | number) => [name, Buffer.from(`${value}`)] as const;
  return {
    topic,
    key: record.key,
    value: record.value,
    headers: [
      ...headers.filter(([name]) => !ADDED.has(name)),
      text(DEAD_LETTER_HEADER.stage, cause.stage),
      text(DEAD_LETTER_HEADER.reason, cause.reason),
      text(DEAD_LETTER_HEADER.error, cause.error),
      text(DEAD_LETTER_HEADER.failedAt, cause.failedAtMs),
      text(DEAD_LETTER_HEADER.topic, record.topic),
      text(DEAD_LETTER_HEADER.partition, record.partition),
      text(DEAD_LETTER_HEADER.offset, record.offset),
    ],
    compression: { bytes: null },
  };
}

/**
 * A dead letter: a delivery or record that Switchyard stopped trying to process. It has the original value. Its
 * headers contain the reason and the original record's position (docs/guarantees.md#dead-letters). A dead letter
 * that is larger than the cluster allows is compressed, so that it can keep the value.
 */

import type { OutgoingRecord, RecordContent, RecordHeaders, RecordPlace } from "./record.ts";
import type { StageName } from "./stages.ts";

/** Each reason with the sentence that `docs/guarantees.md` shows. */
export const DEAD_LETTER_REASONS = {
  undecodable: "The record has no value, or the value is not JSON in UTF-8.",
  "unknown-schema": "The value refers to a schema that is unknown.",
  "invalid-call": "The value is JSON but not a valid call, or a delivery lacks a required header.",
  "unknown-source": "The record does not name a source, or names a source that is not configured.",
  "unknown-destination": "The delivery's destination, endpoint or topic no longer exists.",
  "rule-failed": "A rule of a destination could not be evaluated. The dead letter has no value.",
  "invalid-sync": "The record on `audience-syncs` violates the protocol.",
  "invalid-deletion": "The record on `deletion-requests` is not a valid request.",
  "too-large": "A record that had to be written is larger than the broker allows.",
  rejected:
    "Every endpoint that did not accept it responded with a status that is not retried, or had responded 410 to another request.",
  cancelled: "An operator canceled the deliveries that waited for the destination.",
  expired: "Not enough endpoints accepted the delivery within its retry window.",
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
  /** One sentence that names the problem and its location, without secrets or payload. */
  readonly error: string;
  readonly failedAtMs: number;
}

const ADDED: ReadonlySet<string> = new Set(Object.values(DEAD_LETTER_HEADER));

/**
 * Creates the dead letter for a record.
 *
 * @param headers the headers of the record that the dead letter keeps, by default all of them. Headers from an
 *   earlier dead letter are replaced.
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

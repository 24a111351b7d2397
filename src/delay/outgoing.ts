/**
 * What is written for a record that has waited long enough.
 *
 *   verdict        record
 *   return         the record as it came, headers included, to its destination's topic
 *   dead-letter    a dead letter with all its headers
 */

import { type DeadLetterReason, deadLetter } from "../domain/dead-letter.ts";
import { forwarded, type IncomingRecord, type OutgoingRecord } from "../domain/record.ts";
import type { Due } from "./partition-queue.ts";

export interface Letter {
  readonly record: IncomingRecord;
  readonly reason: DeadLetterReason;
  readonly error: string;
}

export function outgoingOf(
  { waiting, verdict }: Due,
  deadLetterTopic: string,
  nowMs: number,
): OutgoingRecord {
  const { record } = waiting;
  if (verdict.kind === "dead-letter") {
    return deadLetterOf({ record, ...verdict }, deadLetterTopic, nowMs);
  }
  return forwarded(record, verdict.topic);
}

export function deadLetterOf(
  { record, reason, error }: Letter,
  topic: string,
  nowMs: number,
): OutgoingRecord {
  return deadLetter(topic, record, { stage: "delay", reason, error, failedAtMs: nowMs });
}

/**
 * The records that take the place of a delivery that was not accepted: in a delay topic, or among
 * the dead letters. The value is always the call's, byte for byte.
 *
 *   what happened                         the record
 *   to be tried again later               in the tier's delay topic, under the delivery's key
 *   given up                              a dead letter with the delivery's headers as they are now
 *   the record is no delivery             a dead letter with its headers as they came
 *   the brokers find one of these         a dead letter, too-large
 *     too large
 *   they find that too large as well      a dead letter without key, value and foreign headers; the
 *                                         record can still be read where it stood
 */

import { type DeadLetterReason, deadLetter } from "../domain/dead-letter.ts";
import { deliveryHeaders, foreignHeaders } from "../domain/delivery.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import { type TopicNames, tierName } from "../domain/topics.ts";
import type { Output } from "./plan.ts";

export type Replacement =
  | {
      readonly kind: "park";
      readonly tier: string;
      readonly record: IncomingRecord;
      readonly outgoing: OutgoingRecord;
    }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      readonly error: string;
      readonly record: IncomingRecord;
      readonly outgoing: OutgoingRecord;
    };

export type LetterTopics = Pick<TopicNames, "delays" | "deadLetters">;

export function replacement(
  output: Output,
  record: IncomingRecord,
  topics: LetterTopics,
  nowMs: number,
): Replacement {
  if (output.kind === "dead-letter") {
    const { reason, error, delivery } = output;
    const headers = [...deliveryHeaders(delivery), ...foreignHeaders(record.headers)];
    return letter(record, reason, error, topics, nowMs, headers);
  }
  const { delayMs, delivery } = output;
  const outgoing = {
    topic: topics.delays(delayMs),
    key: record.key,
    value: record.value,
    headers: [
      ...deliveryHeaders({ ...delivery, returnTopic: record.topic }),
      ...foreignHeaders(record.headers),
    ],
  };
  return { kind: "park", tier: tierName(delayMs), record, outgoing };
}

export function letter(
  record: IncomingRecord,
  reason: DeadLetterReason,
  error: string,
  topics: LetterTopics,
  nowMs: number,
  headers = record.headers,
): Replacement {
  const cause = { stage: "deliver", reason, error, failedAtMs: nowMs } as const;
  const outgoing = deadLetter(topics.deadLetters, record, cause, headers);
  return { kind: "dead-letter", reason, error, record, outgoing };
}

/** In place of one that the brokers refused because of its size. */
export function smaller(
  refused: Replacement,
  error: string,
  topics: LetterTopics,
  nowMs: number,
): Replacement {
  const { record, outgoing } = refused;
  if (refused.kind === "park") {
    const sentence = `too large for ${outgoing.topic}: ${error}`;
    return letter(record, "too-large", sentence, topics, nowMs, outgoing.headers);
  }
  const bytes = record.value?.length ?? 0;
  const sentence = `${refused.error}; its ${bytes} bytes are too large for this topic and not kept here`;
  const bare = { ...record, key: null, value: null, headers: [] };
  const own = new Set(foreignHeaders(outgoing.headers).map(([name]) => name));
  const headers = outgoing.headers.filter(([name]) => !own.has(name));
  const made = letter(bare, refused.reason, sentence, topics, nowMs, headers);
  return { ...made, record };
}

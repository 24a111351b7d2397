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
 *   they take not even that               nothing
 */

import { type DeadLetterReason, deadLetter } from "../domain/dead-letter.ts";
import { deliveryHeaders, foreignHeaders } from "../domain/delivery.ts";
import type {
  IncomingRecord,
  OutgoingRecord,
  RecordContent,
  RecordPlace,
} from "../domain/record.ts";
import { type TopicNames, tierName } from "../domain/topics.ts";
import type { Output } from "./plan.ts";

/** Keeps no hold of the record whose place it takes. */
export type Replacement =
  | {
      readonly kind: "park";
      readonly tier: string;
      readonly place: RecordPlace;
      readonly outgoing: OutgoingRecord;
    }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      readonly error: string;
      readonly place: RecordPlace;
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
    const headers = [...deliveryHeaders(delivery), ...foreignHeaders(record)];
    return letter(record, reason, error, topics, nowMs, headers);
  }
  const { delayMs, delivery } = output;
  const outgoing = {
    topic: topics.delays(delayMs),
    key: record.key,
    value: record.value,
    headers: [
      ...deliveryHeaders({ ...delivery, returnTopic: record.topic }),
      ...foreignHeaders(record),
    ],
  };
  return { kind: "park", tier: tierName(delayMs), place: placeOf(record), outgoing };
}

export function letter(
  record: RecordPlace & RecordContent,
  reason: DeadLetterReason,
  error: string,
  topics: LetterTopics,
  nowMs: number,
  headers = record.headers,
): Replacement {
  const cause = { stage: "deliver", reason, error, failedAtMs: nowMs } as const;
  const outgoing = deadLetter(topics.deadLetters, record, cause, headers);
  return { kind: "dead-letter", reason, error, place: placeOf(record), outgoing };
}

/** In place of one that the brokers refused because of its size; null when it holds nothing more. */
export function smaller(
  refused: Replacement,
  error: string,
  topics: LetterTopics,
  nowMs: number,
): Replacement | null {
  const { place, outgoing } = refused;
  const { key, value, headers } = outgoing;
  if (refused.kind === "park") {
    const sentence = `too large for ${outgoing.topic}: ${error}`;
    return letter({ ...place, key, value, headers }, "too-large", sentence, topics, nowMs);
  }
  const foreign = new Set(foreignHeaders({ headers }).map(([name]) => name));
  if (key === null && value === null && foreign.size === 0) return null;
  const bytes = value?.length ?? 0;
  const sentence = `${refused.error}; its ${bytes} bytes are too large for this topic and not kept here`;
  const own = headers.filter(([name]) => !foreign.has(name));
  const bare = { ...place, key: null, value: null, headers: own };
  return letter(bare, refused.reason, sentence, topics, nowMs);
}

function placeOf({ topic, partition, offset }: RecordPlace): RecordPlace {
  return { topic, partition, offset };
}

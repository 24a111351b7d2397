/**
 * Creates the dead letters of the stages that read records from other programs: route, deletion and audience. For
 * these stages and the delay stage, it also shortens dead letters that are too large.
 *
 *   what happened                                 the dead letter
 *   a record cannot be used                       its key, value and own headers, and the reason
 *   brokers reject some records made from it      the same, with the reason too-large; the error names
 *                                                 the topics. The other records were written.
 *   brokers reject a dead letter                  as much of value, key and the headers of
 *                                                 producers as fits (`cut.ts`); the reason, our own headers,
 *                                                 and the position at which the record can still be read
 *
 * A producer's `switchyard-*` headers are dropped, because only stages may write them.
 */

import { cutWords, shorter } from "./cut.ts";
import { type DeadLetterCause, type DeadLetterReason, deadLetter } from "./dead-letter.ts";
import { foreignHeaders } from "./delivery.ts";
import type {
  IncomingRecord,
  OutgoingRecord,
  RecordContent,
  RecordHeaders,
  RecordPlace,
} from "./record.ts";
import type { StageName } from "./stages.ts";

/** A record and the reason why a stage dead-letters it. */
export interface DeadLettered {
  readonly record: IncomingRecord;
  readonly reason: DeadLetterReason;
  /** One sentence that names the problem and its location, without secrets or payload. */
  readonly error: string;
  /** The headers that the dead letter keeps; if absent, those of the record's headers that the stage allows. */
  readonly headers?: RecordHeaders;
}

export interface DeadLetter extends DeadLettered {
  readonly stage: StageName;
  readonly outgoing: OutgoingRecord;
}

export interface Became {
  readonly record: IncomingRecord;
  readonly records: readonly OutgoingRecord[];
}

/**
 * @param topic the topic of dead letters.
 * @param headers the record's headers that the dead letter keeps.
 */
export function deadLetterOf(
  stage: StageName,
  { record, reason, error, headers: own }: DeadLettered,
  topic: string,
  nowMs: number,
  headers: RecordHeaders = own ?? foreignHeaders(record),
): DeadLetter {
  const cause = { stage, reason, error, failedAtMs: nowMs };
  return { stage, record, reason, error, outgoing: deadLetter(topic, record, cause, headers) };
}

/**
 * Creates a dead letter for each record from which rejected records were created.
 *
 * @param refused the rejected records, with the brokers' messages.
 */
export function tooLarge(
  became: readonly Became[],
  refused: ReadonlyMap<OutgoingRecord, string>,
): readonly DeadLettered[] {
  return became.flatMap(({ record, records }) => {
    const outgoing = records.filter((one) => refused.has(one));
    const [first] = outgoing;
    if (first === undefined) return [];
    const topics = [...new Set(outgoing.map(({ topic }) => topic))].join(", ");
    const error = tooLargeFor(topics, refused.get(first));
    return [{ record, reason: "too-large", error }];
  });
}

/**
 * The dead letter for a delivery whose topic no longer exists. A replay of the dead letter writes only to that
 * delivery's destination.
 *
 * @param delivery the record that could not be written, with all its headers.
 */
export function goneDeadLetter(
  from: Pick<DeadLetter, "stage" | "record" | "error">,
  { key, value, headers }: RecordContent,
  deadLetterTopic: string,
  nowMs: number,
): DeadLetter {
  const { topic, partition, offset } = from.record;
  const reason = "unknown-destination";
  const cause = { stage: from.stage, reason, error: from.error, failedAtMs: nowMs } as const;
  const delivery = { topic, partition, offset, key, value, headers };
  return { ...from, reason, outgoing: deadLetter(deadLetterTopic, delivery, cause) };
}

/**
 * Returns a shorter version of a dead letter that is too large; null if it cannot be shortened any further.
 *
 * @param whole the original dead letter.
 * @param refused the version that the brokers rejected last.
 */
export function shortDeadLetter(
  whole: DeadLetter,
  refused: OutgoingRecord,
  deadLetterTopic: string,
  nowMs: number,
): OutgoingRecord | null {
  const { stage, record, reason, error, outgoing } = whole;
  const cause = { stage, reason, error, failedAtMs: nowMs };
  return short(cause, record, outgoing, refused, deadLetterTopic);
}

/**
 * Shortens the record of a dead letter; null if it cannot be shortened any further.
 *
 * @param cause the cause as the original dead letter states it.
 * @param place the position of the record that the dead letter is about.
 */
export function short(
  cause: DeadLetterCause,
  { topic, partition, offset }: RecordPlace,
  whole: RecordContent,
  refused: RecordContent,
  deadLetterTopic: string,
): OutgoingRecord | null {
  const next = shorter(whole, refused);
  if (next === null) return null;
  const { key, value, headers } = next.content;
  const error =
    `${cause.error}; to fit into this topic, the dead letter was written without ` +
    `${cutWords(next.cut)}`;
  const content = { topic, partition, offset, key, value, headers };
  return deadLetter(deadLetterTopic, content, { ...cause, error });
}

/** @param says the brokers' message. */
export function tooLargeFor(topics: string, says: string | undefined): string {
  return `too large for ${topics}: ${says}`;
}

/**
 * The dead letters of stages that read what others write: route, deletion and audience; and what is
 * left of one that is too large, of these and of delay.
 *
 *   what happened                                 the dead letter
 *   a record cannot be used                       its key, value and own headers, and the reason
 *   the brokers refuse some of what it becomes    the same, reason too-large; the sentence names the
 *                                                 topics. The rest was written.
 *   they refuse a dead letter                     no key, value or headers of producers: the reason,
 *                                                 what our own say, and where the record stood, from
 *                                                 where it can still be read
 *
 * A producer's `switchyard-*` headers are not kept: they would say what only a stage may say.
 */

import { type DeadLetterReason, deadLetter, type StageName } from "./dead-letter.ts";
import { foreignHeaders, OWN_HEADER_PREFIX } from "./delivery.ts";
import type { IncomingRecord, OutgoingRecord } from "./record.ts";

/** A record and why a stage gives it up. */
export interface GivenUp {
  readonly record: IncomingRecord;
  readonly reason: DeadLetterReason;
  /** One sentence: what was wrong and where. No secret, no payload. */
  readonly error: string;
}

export interface DeadLetter extends GivenUp {
  readonly stage: StageName;
  /** What to write. */
  readonly outgoing: OutgoingRecord;
}

/** @param topic of dead letters. */
export function deadLetterOf(
  stage: StageName,
  { record, reason, error }: GivenUp,
  topic: string,
  nowMs: number,
): DeadLetter {
  const cause = { stage, reason, error, failedAtMs: nowMs };
  const outgoing = deadLetter(topic, record, cause, foreignHeaders(record));
  return { stage, record, reason, error, outgoing };
}

/**
 * For a record of which the brokers refused something; null when they refused none of it.
 *
 * @param written what the record became.
 * @param refused with what the brokers say.
 */
export function tooLarge(
  record: IncomingRecord,
  written: readonly OutgoingRecord[],
  refused: ReadonlyMap<OutgoingRecord, string>,
): GivenUp | null {
  const outgoing = written.filter((one) => refused.has(one));
  const [first] = outgoing;
  if (first === undefined) return null;
  const topics = [...new Set(outgoing.map(({ topic }) => topic))].join(", ");
  const error = `too large for ${topics}: ${refused.get(first)}`;
  return { record, reason: "too-large", error };
}

/** In place of a dead letter that is itself too large. */
export function bareLetter(letter: DeadLetter, letterTopic: string, nowMs: number): DeadLetter {
  const { stage, record, reason, error } = letter;
  const { topic, partition, offset } = record;
  const bytes = record.value?.length ?? 0;
  const sentence = `${error}; its ${bytes} bytes are too large for this topic and not kept here`;
  const headers = letter.outgoing.headers.filter(([name]) => name.startsWith(OWN_HEADER_PREFIX));
  const bare = { topic, partition, offset, key: null, value: null, headers };
  const cause = { stage, reason, error: sentence, failedAtMs: nowMs };
  return { ...letter, error: sentence, outgoing: deadLetter(letterTopic, bare, cause) };
}

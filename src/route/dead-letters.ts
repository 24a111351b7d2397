/**
 * The dead letters of route.
 *
 *   what happened                              the dead letter
 *   a record cannot be used                    its key, value and own headers, and the reason
 *   the brokers refuse copies of a call        the same, reason too-large; the sentence names the
 *                                              topics. Copies for other destinations were written.
 *   they refuse a dead letter                  no key, value or own headers: the reason, and where
 *                                              the record stood, from where it can still be read
 *
 * A producer's `switchyard-*` headers are not kept: they would say what only a stage may say.
 */

import { type DeadLetterReason, deadLetter } from "../domain/dead-letter.ts";
import { foreignHeaders } from "../domain/delivery.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { Routed } from "./route-record.ts";

/** A record of `calls` and why it is given up. */
export interface GivenUp {
  readonly record: IncomingRecord;
  readonly reason: DeadLetterReason;
  readonly error: string;
}

export interface DeadLetter extends GivenUp {
  /** What to write. */
  readonly outgoing: OutgoingRecord;
}

export function deadLetterOf(givenUp: GivenUp, topic: string, nowMs: number): DeadLetter {
  const { record, reason, error } = givenUp;
  const cause = { stage: "route", reason, error, failedAtMs: nowMs } as const;
  const outgoing = deadLetter(topic, record, cause, foreignHeaders(record.headers));
  return { ...givenUp, outgoing };
}

/** One for each call of which the brokers refused copies. */
export function tooLargeLetters(
  batch: readonly Routed[],
  refused: ReadonlyMap<OutgoingRecord, string>,
  topic: string,
  nowMs: number,
): readonly DeadLetter[] {
  return batch.flatMap((routed) => {
    const copies =
      routed.kind === "routed" ? routed.copies.filter((copy) => refused.has(copy)) : [];
    const [first] = copies;
    if (first === undefined) return [];
    const topics = copies.map((copy) => copy.topic).join(", ");
    const error = `too large for ${topics}: ${refused.get(first)}`;
    const givenUp = { record: routed.record, reason: "too-large", error } as const;
    return [deadLetterOf(givenUp, topic, nowMs)];
  });
}

/** In place of a dead letter that is itself too large. */
export function bareLetter(letter: DeadLetter, topic: string, nowMs: number): DeadLetter {
  const { record, reason, error } = letter;
  const bytes = record.value?.length ?? 0;
  const sentence = `${error}; its ${bytes} bytes are too large for this topic and not kept here`;
  const bare = { ...record, key: null, value: null, headers: [] };
  return deadLetterOf({ record: bare, reason, error: sentence }, topic, nowMs);
}

/**
 * Which dead letters are meant. A letter passes when it passes each filter that is given:
 *
 *   filter        passes
 *   destinations  one of these; a letter without destination passes none
 *   reasons       one of these
 *   messageIds    one of these, in the header or the call itself; where that has a schema of a
 *                 registry, only if somebody reads it
 *   sinceMs       given up at this time or later
 *   untilMs       given up before this time
 */

import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import { type DeadLetter, messageIdOf } from "./dead-letter-record.ts";

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

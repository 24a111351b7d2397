/**
 * Which dead letters are meant. A letter passes when it passes each filter that is given:
 *
 *   filter        passes
 *   destinations  one of these; a letter without destination passes none
 *   reasons       one of these
 *   messageIds    one of these, in the header or the call itself
 *   sinceMs       given up at this time or later
 *   untilMs       given up before this time
 */

import type { DeadLetterReason } from "../domain/dead-letter.ts";
import { type Letter, messageIdOf } from "./letter.ts";

export interface LetterFilter {
  /** Empty: all; so are reasons and message ids. */
  readonly destinations: readonly string[];
  readonly reasons: readonly DeadLetterReason[];
  readonly messageIds: readonly string[];
  /** Null: no limit. */
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
}

export const EVERY_LETTER: LetterFilter = {
  destinations: [],
  reasons: [],
  messageIds: [],
  sinceMs: null,
  untilMs: null,
};

export function passes(letter: Letter, filter: LetterFilter): boolean {
  const { destinations, reasons, messageIds, sinceMs, untilMs } = filter;
  if (sinceMs !== null && letter.failedAtMs < sinceMs) return false;
  if (untilMs !== null && letter.failedAtMs >= untilMs) return false;
  if (!isOneOf(letter.reason, reasons)) return false;
  if (!isOneOf(letter.destination, destinations)) return false;
  // Last, because it may have to read the value.
  return messageIds.length === 0 || isOneOf(messageIdOf(letter), messageIds);
}

function isOneOf(given: string | null, wanted: readonly string[]): boolean {
  return wanted.length === 0 || (given !== null && wanted.includes(given));
}

/**
 * What is written for records that have waited long enough.
 *
 *   what happened                        the record
 *   it is due                            goes as it came, headers included, to its destination's topic
 *   the verdict is a dead letter         a dead letter with all its headers
 *   the brokers find it too large for    the same, too-large
 *     that topic
 *   they find a dead letter too large    without key, value and foreign headers (`domain/given-up.ts`)
 */

import { deadLetter } from "../domain/dead-letter.ts";
import { type DeadLetter, type GivenUp, tooLarge } from "../domain/given-up.ts";
import { forwarded, type IncomingRecord, type OutgoingRecord } from "../domain/record.ts";
import type { Due } from "./partition-queue.ts";

export interface Returned {
  readonly record: IncomingRecord;
  readonly dueAtMs: number;
  readonly outgoing: OutgoingRecord;
}

export interface Outgoing {
  readonly returned: readonly Returned[];
  readonly letters: readonly DeadLetter[];
}

export function outgoingOf(due: readonly Due[], letterTopic: string, nowMs: number): Outgoing {
  const returned: Returned[] = [];
  const letters: DeadLetter[] = [];
  for (const { waiting, verdict } of due) {
    const { record } = waiting;
    if (verdict.kind === "return") {
      const { dueAtMs, topic } = verdict;
      returned.push({ record, dueAtMs, outgoing: forwarded(record, topic) });
    } else {
      const { reason, error } = verdict;
      letters.push(letterOf({ record, reason, error }, letterTopic, nowMs));
    }
  }
  return { returned, letters };
}

/** One for each record that its topic does not take. */
export function tooLargeLetters(
  returned: readonly Returned[],
  refused: ReadonlyMap<OutgoingRecord, string>,
  letterTopic: string,
  nowMs: number,
): readonly DeadLetter[] {
  return returned.flatMap(({ record, outgoing }) => {
    const givenUp = tooLarge(record, [outgoing], refused);
    return givenUp === null ? [] : [letterOf(givenUp, letterTopic, nowMs)];
  });
}

function letterOf(givenUp: GivenUp, letterTopic: string, nowMs: number): DeadLetter {
  const stage = "delay";
  const { record, reason, error } = givenUp;
  const cause = { stage, reason, error, failedAtMs: nowMs } as const;
  return { ...givenUp, stage, outgoing: deadLetter(letterTopic, record, cause) };
}

/** The dead letters of calls of which the brokers refused copies; `domain/given-up.ts` makes them. */

import { type DeadLetter, deadLetterOf, tooLarge } from "../domain/given-up.ts";
import type { OutgoingRecord } from "../domain/record.ts";
import type { Routed } from "./route-record.ts";

/** One for each such call. */
export function tooLargeLetters(
  batch: readonly Routed[],
  refused: ReadonlyMap<OutgoingRecord, string>,
  topic: string,
  nowMs: number,
): readonly DeadLetter[] {
  return batch.flatMap((routed) => {
    const written = routed.kind === "routed" ? routed.copies : [];
    const givenUp = tooLarge(routed.record, written, refused);
    return givenUp === null ? [] : [deadLetterOf("route", givenUp, topic, nowMs)];
  });
}

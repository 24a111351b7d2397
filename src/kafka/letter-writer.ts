/**
 * Writes what a stage makes of its records, dead letters included, and gives up what the brokers do
 * not take for its size.
 *
 *   refused                              written in its place
 *   something that a record becomes      a dead letter `too-large` for that record
 *   a dead letter                        a bare one: the reason and where the record stood
 *   a bare dead letter                   nothing: throws, since going on would lose the record
 */

import { bareLetter, type DeadLetter } from "../domain/given-up.ts";
import type { OutgoingRecord } from "../domain/record.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Producer } from "./port.ts";
import { watchedWriter } from "./watched-writer.ts";

/** What the brokers do not take because of its size, with what they say. */
export type Refused = ReadonlyMap<OutgoingRecord, string>;

export interface Written {
  readonly refused: Refused;
  /** Dead letters written in all. */
  readonly letters: readonly DeadLetter[];
}

export interface LetterWriter {
  /**
   * Resolves when all is acknowledged.
   *
   * @param tooLarge the dead letters for records of which something was refused.
   * @throws Error when not even a bare dead letter is taken.
   */
  write(
    records: readonly OutgoingRecord[],
    letters: readonly DeadLetter[],
    tooLarge: (refused: Refused) => readonly DeadLetter[],
  ): Promise<Written>;
  /** A sentence when the brokers take long. */
  troubles(): readonly string[];
}

/** @param onAcknowledged called with how many records of a send were written. */
export function letterWriter(
  producer: Producer,
  clock: Clock,
  deadLetterTopic: string,
  onAcknowledged: (records: number) => void,
): LetterWriter {
  const writer = watchedWriter(producer, clock, onAcknowledged);
  const send = async (records: readonly OutgoingRecord[]): Promise<Refused> => {
    if (records.length === 0) return new Map();
    const refused = await writer.send(records);
    return new Map(refused.map(({ record, error }) => [record, error]));
  };
  const writeRefused = async (
    letters: readonly DeadLetter[],
    large: readonly DeadLetter[],
    refused: Refused,
  ) => {
    const refusedAgain = await send(large.map(({ outgoing }) => outgoing));
    const nowMs = clock.nowMs();
    const bare = [...letters, ...large]
      .filter(({ outgoing }) => refused.has(outgoing) || refusedAgain.has(outgoing))
      .map((letter) => bareLetter(letter, deadLetterTopic, nowMs).outgoing);
    const [problem] = (await send(bare)).values();
    if (problem === undefined) return;
    throw new Error(
      `The topic ${deadLetterTopic} takes not even a dead letter without its value (${problem}). Raise its max.message.bytes.`,
    );
  };
  return {
    write: async (records, letters, tooLarge) => {
      const all =
        letters.length === 0 ? records : [...records, ...letters.map((each) => each.outgoing)];
      const refused = await send(all);
      if (refused.size === 0) return { refused, letters };
      const large = tooLarge(refused);
      await writeRefused(letters, large, refused);
      return { refused, letters: [...letters, ...large] };
    },
    troubles: writer.troubles,
  };
}

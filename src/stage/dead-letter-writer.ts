/**
 * Writes the records that a stage makes, dead letters included. Gives up those that are too large
 * for the brokers.
 *
 *   refused                              written in its place
 *   something that a record becomes      a dead letter `too-large` for that record
 *   a dead letter                        what fits of it (`domain/cut.ts`), the reason and where the
 *                                        record stood
 *   the shortest of these                nothing: throws, since going on would lose the record
 *
 * A delivery whose topic takes nothing goes around it (`reroute.ts`), or becomes a dead letter
 * `unknown-destination` of its own, which is replayed to that destination alone.
 */

import {
  type Became,
  type DeadLetter,
  type DeadLettered,
  deadLetterOf,
  goneDeadLetter,
  shortDeadLetter,
  tooLarge,
} from "../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord, RecordHeaders } from "../domain/record.ts";
import type { StageName } from "../domain/stages.ts";
import { type Gone, sendRerouted } from "./reroute.ts";
import type { StageDeps } from "./stage-deps.ts";
import { watchedWriter } from "./watched-writer.ts";

/** The records that were not written, too large or for a topic that is gone, with the reason. */
export type Refused = ReadonlyMap<OutgoingRecord, string>;

export interface Written {
  readonly refused: Refused;
  /** Dead letters written in all. */
  readonly deadLetters: readonly DeadLetter[];
}

export interface DeadLetterWriter {
  /**
   * Resolves when all is acknowledged.
   *
   * @throws Error when not even a bare dead letter is taken.
   */
  write(became: readonly Became[], deadLettered: readonly DeadLettered[]): Promise<Written>;
  /** A sentence when the brokers take long. */
  healthProblems(): readonly string[];
}

export type WriterDeps = Pick<StageDeps, "producer" | "clock" | "metrics" | "rerouting">;

/** @param headersOf a dead letter keeps these of a record's headers; by default those of producers. */
export function deadLetterWriter(
  { producer, clock, metrics, rerouting }: WriterDeps,
  stage: StageName,
  deadLetterTopic: string,
  headersOf?: (record: IncomingRecord) => RecordHeaders,
): DeadLetterWriter {
  const recordsOut = metrics.recordsOut.bind({ stage });
  const writer = watchedWriter(producer, clock, (records) => recordsOut.inc(records));
  const recordOf = (each: DeadLettered) =>
    deadLetterOf(stage, each, deadLetterTopic, clock.nowMs(), headersOf?.(each.record));
  const goneDeadLetters = (became: readonly Became[], gone: readonly Gone[]) => {
    if (gone.length === 0) return [];
    const sources = new Map(
      became.flatMap(({ record, records }) => records.map((one) => [one, record] as const)),
    );
    return gone.flatMap(({ record: sent, delivery, error }) => {
      const record = sources.get(sent);
      if (record === undefined) return [];
      return [goneDeadLetter({ stage, record, error }, delivery, deadLetterTopic, clock.nowMs())];
    });
  };
  const send = async (records: readonly OutgoingRecord[]): Promise<Refused> => {
    if (records.length === 0) return new Map();
    const refused = await writer.send(records);
    return new Map(refused.map(({ record, error }) => [record, error]));
  };
  const writeRefused = async (
    deadLetters: readonly DeadLetter[],
    large: readonly DeadLetter[],
    refused: Refused,
  ) => {
    const refusedAgain = await send(large.map(({ outgoing }) => outgoing));
    let left = [...deadLetters, ...large]
      .filter(({ outgoing }) => refused.has(outgoing) || refusedAgain.has(outgoing))
      .map((whole) => ({ whole, outgoing: whole.outgoing }));
    let problem: string | undefined;
    while (left.length > 0) {
      const nowMs = clock.nowMs();
      const shorter = left.map(({ whole, outgoing }) => {
        const next = shortDeadLetter(whole, outgoing, deadLetterTopic, nowMs);
        if (next !== null) return { whole, outgoing: next };
        throw new Error(
          `The topic ${deadLetterTopic} takes not even a dead letter without its value (${problem}). Raise its max.message.bytes.`,
        );
      });
      const refusedShort = await send(shorter.map(({ outgoing }) => outgoing));
      left = shorter.filter(({ outgoing }) => refusedShort.has(outgoing));
      [problem] = refusedShort.values();
    }
  };
  return {
    write: async (became, deadLettered) => {
      const deadLetters = deadLettered.map(recordOf);
      const all: OutgoingRecord[] = [];
      for (const { records } of became) for (const record of records) all.push(record);
      for (const { outgoing } of deadLetters) all.push(outgoing);
      const { refused, gone } = await sendRerouted(all, writer, rerouting, stage, () =>
        clock.nowMs(),
      );
      if (refused.size + gone.length === 0) return { refused, deadLetters };
      const late = [...tooLarge(became, refused).map(recordOf), ...goneDeadLetters(became, gone)];
      await writeRefused(deadLetters, late, refused);
      const unwritten = new Map([
        ...refused,
        ...gone.map(({ record, error }) => [record, error] as const),
      ]);
      return { refused: unwritten, deadLetters: [...deadLetters, ...late] };
    },
    healthProblems: writer.healthProblems,
  };
}

/**
 * Writes the records that a stage produces, including dead letters. A record that is too large for the brokers is
 * replaced by a dead letter.
 *
 *   rejected by the brokers              written instead
 *   a record created from another one    a dead letter for the original record, with the reason too-large
 *   a dead letter                        the part that fits (`domain/cut.ts`), the reason, and the record's
 *                                        position
 *   the shortest such dead letter        nothing: `write` throws, because continuing would lose the record
 *
 * A delivery whose topic is not writable is rerouted (`reroute.ts`), or becomes a separate dead letter with the reason
 * `unknown-destination`, which is replayed to that destination only.
 */

import {
  type Became,
  type DeadLetter,
  type DeadLettered,
  deadLetterOf,
  goneDeadLetter,
  shortDeadLetter,
  tooLarge,
} from "../../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import type { StageName } from "../../domain/stages.ts";
import type { Outcome } from "../ledger/tallies.ts";
import { type Gone, sendRerouted } from "./reroute.ts";
import type { StageDeps } from "./running-stage.ts";
import { watchedWriter } from "./watched-writer.ts";

/** The records that were not written, because they are too large or their topic is missing. Each has its reason. */
export type Refused = ReadonlyMap<OutgoingRecord, string>;

export interface Written {
  readonly refused: Refused;
  readonly deadLetters: readonly DeadLetter[];
  /** What became of records that were not written to their own topic. */
  readonly instead: ReadonlyMap<OutgoingRecord, Outcome>;
}

export interface DeadLetterWriter {
  /**
   * Resolves when everything is acknowledged.
   *
   * @throws Error if even the shortest dead letter is rejected.
   */
  write(became: readonly Became[], deadLettered: readonly DeadLettered[]): Promise<Written>;
  /** Returns a sentence if the brokers are slow. */
  healthProblems(): readonly string[];
}

export type WriterDeps = Pick<StageDeps, "producer" | "clock" | "metrics" | "rerouting">;

/**
 * @param headersOf returns the headers of a record that its dead letter keeps; by default, those that producers sent.
 */
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
          `Brokers reject even a dead letter without its value on ${deadLetterTopic} (${problem}). Raise the topic's max.message.bytes.`,
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
      const { refused, gone, instead } = await sendRerouted(all, writer, rerouting, stage, () =>
        clock.nowMs(),
      );
      if (refused.size + gone.length === 0) return { refused, deadLetters, instead };
      const late = [...tooLarge(became, refused).map(recordOf), ...goneDeadLetters(became, gone)];
      await writeRefused(deadLetters, late, refused);
      const unwritten = new Map([
        ...refused,
        ...gone.map(({ record, error }) => [record, error] as const),
      ]);
      return { refused: unwritten, deadLetters: [...deadLetters, ...late], instead };
    },
    healthProblems: writer.healthProblems,
  };
}

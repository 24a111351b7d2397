/**
 * `switchyard dead-letters list`.
 *
 *   format   printed                             without --limit    with --limit N
 *   table    when all have been read             the newest 50      the newest N
 *   --json   while they are read, oldest first   all                the newest N, when all are read
 */

import type { Destination } from "../../../domain/destination.ts";
import type { TopicNames } from "../../../domain/topics.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import type { ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import type { DeadLetter, DeadLetterFilter } from "../../../operator/replay/dead-letter-record.ts";
import { openDeadLetterSchemas } from "../../../operator/replay/dead-letter-schemas.ts";
import {
  deadLetterRanges,
  readDeadLetters,
  readMarks,
} from "../../../operator/replay/read-dead-letters.ts";
import type { ReplayMarks } from "../../../operator/replay/replay-marks.ts";
import { Tally } from "../../../operator/replay/replayed-record.ts";
import { deadLetterJson, deadLetterTable, tallyTable } from "../../../operator/replay/rows.ts";
import type { RegistryConnection } from "../../../registry/port.ts";

const TABLE_LIMIT = 50;

export interface ListOptions {
  readonly filter: DeadLetterFilter;
  /** Null means the default of the format. */
  readonly limit: number | null;
  readonly json: boolean;
  readonly topics: TopicNames;
  readonly destinations: readonly Destination[];
  readonly signal: AbortSignal;
  /** Null if no registry is configured. */
  readonly registry: RegistryConnection | null;
}

export async function listDeadLetters(
  kafka: Kafka,
  options: ListOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const { filter, json, topics, destinations, signal } = options;
  const limit = options.limit ?? (json ? null : TABLE_LIMIT);
  const tally = new Tally(options);
  const newest: DeadLetter[] = [];
  await using schemas = await openDeadLetterSchemas(options.registry, signal);
  const { read } = schemas;
  // If a filter by message ID is set, all values are read for it. Otherwise, only the values that are shown are read.
  const isRead = filter.messageIds.length > 0;
  await assertTopics(kafka.admin, [topics.deadLetters]);
  using progress = startProgress(shell, () => `${tally.total.toLocaleString("en")} found`);
  const ranges = await deadLetterRanges(kafka, topics.deadLetters, filter.sinceMs);
  const marks = await readMarks({ kafka, topics, signal }, ranges);
  for await (const deadLetter of readDeadLetters({ kafka, topics, signal, read }, ranges, filter)) {
    tally.add(deadLetter);
    if (marks.of(deadLetter.record) !== null) tally.replayed += 1;
    if (limit === null) {
      shell.out(
        `${deadLetterJson(isRead ? deadLetter : await read(deadLetter), destinations, marks)}\n`,
      );
      continue;
    }
    newest.push(deadLetter);
    // The list is not shortened after each record, because that would copy all remaining records each time.
    if (newest.length >= 2 * limit) newest.splice(0, newest.length - limit);
  }
  progress.end();
  if (!signal.aborted) tally.assertKnown(filter.destinations);
  const shown: DeadLetter[] = [];
  for (const deadLetter of newest.slice(-(limit ?? 0))) {
    shown.push(isRead ? deadLetter : await read(deadLetter));
  }
  if (json)
    for (const deadLetter of shown)
      shell.out(`${deadLetterJson(deadLetter, destinations, marks)}\n`);
  else print(tally, shown, marks, shell);
  schemas.tell(shell, filter);
  if (signal.aborted) shell.err("Interrupted: not all dead letters were read.\n");
  return signal.aborted ? 1 : 0;
}

function print(tally: Tally, shown: readonly DeadLetter[], marks: ReplayMarks, shell: Shell): void {
  if (tally.total === 0) {
    shell.out("No dead letters match.\n");
    return;
  }
  shell.out(`${deadLetterTable(shown, marks, shell.colors)}\n${tallyTable(tally, shell.colors)}\n`);
  const total = tally.total.toLocaleString("en");
  shell.out(
    shown.length < tally.total
      ? `${total} dead letters match; the newest ${shown.length} are shown (--limit).\n`
      : `${total} dead letter${tally.total === 1 ? "" : "s"} match${tally.total === 1 ? "es" : ""}.\n`,
  );
  if (tally.replayed > 0) {
    const waiting = (tally.total - tally.replayed).toLocaleString("en");
    shell.out(`${tally.replayed.toLocaleString("en")} have been replayed, ${waiting} have not.\n`);
  }
}

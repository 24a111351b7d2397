/** Formats dead letters as tables and as JSON, and what a replay says about them. */

import { counted } from "../../base/words/count.ts";
import { table } from "../../base/words/table.ts";
import { type Destination, isAttempted } from "../../domain/destination.ts";
import { endpointFor, endpointIdIn, endpointNames } from "../../domain/endpoint-name.ts";
import { hasRules } from "../../domain/rules.ts";
import { instantText } from "../connect/instant.ts";
import type { Colors } from "../connect/shell.ts";
import { type DeadLetter, messageIdOf } from "./dead-letter-record.ts";
import type { ReplayFigures } from "./replay.ts";
import type { ReplayMarks } from "./replay-marks.ts";
import type { StoredReplay } from "./replay-store.ts";
import type { Tally } from "./replayed-record.ts";

const DEAD_LETTER_COLUMNS = [
  "TIME (UTC)",
  "STAGE",
  "REASON",
  "DESTINATION",
  "MESSAGE ID",
  "FROM",
  "REPLAYED",
  "ERROR",
];
const TALLY_HEAD = ["DESTINATION", "REASON", "COUNT"];

/** What is done to dead letters, in words. */
export interface ReplayWords {
  /** At the start of a sentence. */
  readonly noun: string;
  readonly verb: "replay" | "cancel";
  readonly past: string;
}

const REPLAY: ReplayWords = { noun: "Replay", verb: "replay", past: "replayed" };
const CANCEL: ReplayWords = { noun: "Cancellation", verb: "cancel", past: "canceled" };

export function wordsFor(plan: StoredReplay["plan"]): ReplayWords {
  return "cancels" in plan && plan.cancels === true ? CANCEL : REPLAY;
}

export function deadLetterTable(
  deadLetters: readonly DeadLetter[],
  marks: ReplayMarks,
  { bold, dim }: Colors,
): string {
  const rows = deadLetters.map((deadLetter) =>
    [
      instantText(deadLetter.failedAtMs),
      deadLetter.stage,
      deadLetter.reason,
      deadLetter.destination,
      messageIdOf(deadLetter),
      fromText(deadLetter),
      replayedText(deadLetter, marks),
      deadLetter.error,
    ].map((cell) => (cell === null || cell === "" ? "-" : cell)),
  );
  return table(DEAD_LETTER_COLUMNS, rows, (cell, row, column) => {
    if (row < 0) return bold(cell);
    return column === 0 || column === 5 ? dim(cell) : cell;
  });
}

/**
 * One line of JSON with all keys. `endpointName` is the name of the endpoint to which a replay would send the delivery.
 * `deadLetter` is the position of the record on the topic `dead-letters`.
 */
export function deadLetterJson(
  deadLetter: DeadLetter,
  destinations: readonly Destination[],
  marks: ReplayMarks,
): string {
  const mark = marks.of(deadLetter.record);
  const { record, stage, reason, error, destination, endpoint, from, failedAtMs } = deadLetter;
  return JSON.stringify({
    failedAt: new Date(failedAtMs).toISOString(),
    stage,
    reason,
    error,
    destination,
    endpoint: endpoint && endpointIdIn(endpoint),
    endpointName: endpointNameOf(deadLetter, destinations),
    messageId: messageIdOf(deadLetter),
    from,
    deadLetter: { topic: record.topic, partition: record.partition, offset: record.offset },
    replayed: mark && { at: new Date(mark.atMs).toISOString(), replay: mark.replay },
    bytes: record.value?.length ?? 0,
  });
}

/** A table of counts by destination and reason, with the topics to which a replay writes. */
export function tallyTable(
  tally: Tally,
  { bold, yellow }: Colors,
  { verb }: Pick<ReplayWords, "verb"> = REPLAY,
): string {
  const all = tally.rows();
  const rows = all.map(({ destination, reason, count, to, rejected }) => [
    destination ?? "-",
    reason,
    count.toLocaleString("en"),
    to ?? `no: ${rejected}`,
  ]);
  return table([...TALLY_HEAD, verb.toUpperCase()], rows, (cell, row, column) => {
    if (row < 0) return bold(cell);
    return column === 3 && all[row]?.to === null ? yellow(cell) : cell;
  });
}

function endpointNameOf(
  { destination, endpoint }: DeadLetter,
  destinations: readonly Destination[],
): string | null {
  const configured = destinations.filter(isAttempted).find(({ id }) => id === destination);
  if (configured === undefined || endpoint === null) return null;
  const only = endpointFor(endpoint, configured.endpoints);
  return (only && endpointNames(configured).get(only.key)?.name) ?? null;
}

function replayedText({ record }: DeadLetter, marks: ReplayMarks): string | null {
  const mark = marks.of(record);
  return mark && instantText(mark.atMs);
}

/** The topic, partition and offset of the original record. */
export function fromText({ from: { topic, partition, offset } }: DeadLetter): string {
  return `${topic || "?"}/${partition ?? "?"}/${offset ?? "?"}`;
}

/** Returns a sentence if one of the destinations has rules, as these may have changed since the deliveries were written. */
export function rulesNotice(tally: Tally, destinations: readonly Destination[]): string {
  const ids = tally.rows().map(({ to, destination }) => to && destination);
  if (!destinations.some((each) => ids.includes(each.id) && hasRules(each))) return "";
  return (
    "Deliveries are sent as they were written: consent, filters and mapping that changed since then do not apply, " +
    "so calls that they would drop are sent too. `switchyard replay` applies the current rules.\n"
  );
}

/** @param hint a phrase that names the option for including the skipped dead letters. */
export function countText(
  { total, refused, replayed, suppressed }: Tally,
  hint: string,
  { verb, past }: ReplayWords,
): string {
  const of = (number: number) => number.toLocaleString("en");
  const cannot = refused === 0 ? "" : `; ${of(refused)} cannot be ${past}`;
  const left =
    replayed === 0 ? "" : ` ${of(replayed)} were replayed before and will be skipped${hint}.`;
  const skipped = suppressed === 0 ? "" : ` ${of(suppressed)} of suppressed users will be skipped.`;
  return `${counted(total, "dead letter")} to ${verb}${cannot}.${left}${skipped}`;
}

/** How far a replay of dead letters is. @param total the number of dead letters to send. */
export function replayProgressText(
  { own: { written = 0, refused = 0 } }: ReplayFigures,
  total: number,
  { past }: ReplayWords,
): string {
  const rejected = refused === 0 ? "" : `, ${refused.toLocaleString("en")} rejected`;
  return `${written.toLocaleString("en")} of ${total.toLocaleString("en")} ${past}${rejected}`;
}

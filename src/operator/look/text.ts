/** Formats the status as text. `-` means that a value is unknown, and a note below the tables gives the reason. */

import { ageText, counted } from "../../base/words/count.ts";
import { alignRight, table } from "../../base/words/table.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { instantText } from "../connect/instant.ts";
import type { Colors } from "../connect/shell.ts";
import {
  countText,
  destinationTable,
  endpointTable,
  sinceText,
  skippedTable,
} from "./destination-text.ts";
import { healthProblemsOf } from "./health-problems.ts";
import type {
  DelayTopicReport,
  ProcessReport,
  StageReport,
  StatusReport,
} from "./status-report.ts";

const STAGE_HEAD = ["STAGE", "LAG", "OLDEST", "PROCESSED/MIN", "FAILED/MIN"];
const DELAY_HEAD = ["DELAY", "AWAITING RETRY", "OLDEST", "NEXT RETRY"];
const PROCESS_HEAD = ["PROCESS", "VERSION", "CONFIGURATION", "APPLIED", "STAGES", "PARTITIONS"];
const DEAD_LETTER_COLUMNS = ["DEAD LETTERS", "LAST 24H"];
/** If a stage keeps up, its records never get this old. */
const OLD_MS = 60_000;
/** The polling interval alone can make deliveries overdue by this much. */
const OVERDUE_MS = 5_000;

export function statusText(report: StatusReport, colors: Colors): string {
  const { at, stages, destinations, delayTopics } = report;
  const nowMs = Date.parse(at);
  const parts = [
    `${colors.dim(`${instantText(nowMs)} UTC`)}\n`,
    stageTable(stages, colors),
    destinationTable(destinations, nowMs, colors),
    endpointTable(destinations, nowMs, colors),
    skippedTable(destinations, colors),
    delayTable(delayTopics, colors),
    deadLetterTable(report, colors),
    processTable(report, nowMs, colors),
  ];
  const problems = healthProblemsOf(report).filter(({ isInTables }) => !isInTables);
  const notes = [
    ...problems.map(({ text }) => text),
    ...unknownNotes(report),
    ...suppressionsNote(report),
  ];
  const below = notes.map((note) => `${colors.dim(visibleCell(note))}\n`).join("");
  return [...parts, below].filter((part) => part !== "").join("\n");
}

function suppressionsNote({ suppressions }: StatusReport): readonly string[] {
  if (suppressions === null || suppressions.users === 0) return [];
  const { users, changedAt } = suppressions;
  const since = changedAt === null ? "" : `, as of ${instantText(Date.parse(changedAt))} UTC`;
  return [`${counted(users, "user")} suppressed${since}.`];
}

/** Explains why cells show `-`. */
function unknownNotes(report: StatusReport): readonly string[] {
  const { stages, destinations, delayTopics, deadLetters, notes, kafkaError, processes } = report;
  const isCounted =
    destinations.length === 0 || destinations.some(({ awaitingRetry }) => awaitingRetry !== null);
  const missing = processes.length === 0 ? "With --admin, the" : "The";
  const tooMany = `there are too many records to count in Kafka. ${missing} processes that run the delay stage report the number once they have counted the records`;
  if (kafkaError !== null && !isCounted)
    return ["BACKLOG and AWAITING RETRY are unknown, because Kafka is unreachable."];
  const isUncounted = notes.deadLetters === null && deadLetters?.byReason === null;
  return [
    ...stages.flatMap(({ stage, note }) => (note === null ? [] : `${stage}: ${note}.`)),
    ...destinations.flatMap(({ destination, note }) =>
      note === null ? [] : `${destination}: ${note}.`,
    ),
    ...delayTopics.flatMap(({ delay, note }) => (note === null ? [] : `delay ${delay}: ${note}.`)),
    ...(notes.deadLetters === null ? [] : [`Dead letters: ${notes.deadLetters}.`]),
    ...(isUncounted
      ? ["Dead letters: too many to count by reason; see switchyard dead-letters list --since 1h."]
      : []),
    ...(isCounted ? [] : [`AWAITING RETRY is unknown: ${notes.awaitingRetry ?? tooMany}.`]),
  ];
}

function stageTable(stages: readonly StageReport[], { bold, dim, yellow }: Colors): string {
  if (stages.length === 0) return "";
  const rows = stages.map((stage) => [
    stage.stage,
    countText(stage.lag),
    stage.oldestMs === null ? "-" : ageText(stage.oldestMs),
    countText(stage.donePerMinute),
    countText(stage.failedPerMinute),
  ]);
  const width = alignRight(rows, STAGE_HEAD, [1, 3, 4]);
  return table(width.head, width.rows, (cell, row, column) => {
    const stage = stages[row];
    if (stage === undefined) return bold(cell);
    // Records in delay topics are expected to be old, so their age is not highlighted.
    const isOld = stage.stage !== "delay" && (stage.oldestMs ?? 0) > OLD_MS;
    if ((column === 1 || column === 2) && isOld) return yellow(cell);
    if (column === 4 && (stage.failedPerMinute ?? 0) > 0) return yellow(cell);
    return cell.trim() === "-" ? dim(cell) : cell;
  });
}

function delayTable(delays: readonly DelayTopicReport[], { bold, dim, yellow }: Colors): string {
  if (delays.length === 0) return "";
  const rows = delays.map(({ delay, waiting, oldestMs, dueInMs, retired }) => [
    retired ? `${delay} (retired)` : delay,
    countText(waiting),
    oldestMs === null ? "-" : ageText(oldestMs),
    dueText(dueInMs),
  ]);
  const width = alignRight(rows, DELAY_HEAD, [1]);
  return table(width.head, width.rows, (cell, row, column) => {
    const delay = delays[row];
    if (delay === undefined) return bold(cell);
    if (column === 3 && (delay.dueInMs ?? 0) < -OVERDUE_MS) return yellow(cell);
    return cell.trim() === "-" ? dim(cell) : cell;
  });
}

function dueText(dueInMs: number | null): string {
  if (dueInMs === null) return "-";
  return dueInMs >= 0 ? `in ${ageText(dueInMs)}` : `overdue ${ageText(-dueInMs)}`;
}

function deadLetterTable({ deadLetters }: StatusReport, { bold, yellow }: Colors): string {
  if (deadLetters === null) return "";
  const { byReason, lastDay, retained, replayed } = deadLetters;
  const reasons = Object.entries(byReason ?? {}).sort(([, one], [, other]) => other - one);
  const rows = [
    ...reasons.map(([reason, count]) => [reason || "(no reason)", countText(count)]),
    ["all", `${countText(lastDay)}, ${countText(retained)} retained`],
    ...(replayed === null || replayed === 0
      ? []
      : [["replayed", `${countText(replayed)}, ${countText(lastDay - replayed)} not replayed`]]),
  ];
  return table(DEAD_LETTER_COLUMNS, rows, (cell, row) => {
    if (row < 0) return bold(cell);
    return row < reasons.length ? yellow(cell) : cell;
  });
}

function processTable(
  { processes, configHash }: StatusReport,
  nowMs: number,
  { bold, dim, yellow }: Colors,
): string {
  if (processes.length === 0) return "";
  const rows = processes.map((each) => [
    each.admin,
    each.version ?? "-",
    each.configHash ?? "-",
    each.configAppliedAt === null ? "-" : sinceText(each.configAppliedAt, nowMs),
    each.stages === null ? "-" : each.stages.map(({ name }) => name).join(",") || "none",
    countText(partitionsOf(each)),
  ]);
  const width = alignRight(rows, PROCESS_HEAD, [5]);
  return table(width.head, width.rows, (cell, row, column) => {
    if (row < 0) return bold(cell);
    if (cell.trim() === "-") return dim(cell);
    return column === 2 && cell.trim() !== configHash ? yellow(cell) : cell;
  });
}

function partitionsOf({ stages }: ProcessReport): number | null {
  if (stages === null) return null;
  const topics = stages.flatMap(({ partitions }) => Object.values(partitions));
  return topics.reduce((sum, owned) => sum + owned.length, 0);
}

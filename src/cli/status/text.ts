/** The status as people read it. `-` is not known, and a line below says why. */

import { skipCommand } from "../../domain/damaged-batch.ts";
import { visibleCell } from "../../domain/visible.ts";
import { ageText } from "../age.ts";
import { instantText } from "../instant.ts";
import type { Colors } from "../shell.ts";
import { table } from "../table.ts";
import type { BlockedTopicReport, HaltReport } from "./rates.ts";
import type { StageReport, StatusReport, TierReport } from "./report.ts";

const STAGE_HEAD = [
  "STAGE",
  "DESTINATION",
  "LAG",
  "OLDEST",
  "DONE/MIN",
  "FAILED/MIN",
  "DEAD LETTERS 24H",
  "BREAKERS",
];
const TIER_HEAD = ["DELAY", "WAITING", "OLDEST", "NEXT DUE"];
const PROCESS_HEAD = ["PROCESS", "CONFIGURATION"];
const LETTER_HEAD = ["DEAD LETTERS", "LAST 24H"];
/** A stage that keeps up has nothing this old. */
const OLD_MS = 60_000;
/** A little late is due to the poll. */
const OVERDUE_MS = 5_000;

export function statusText(report: StatusReport, colors: Colors): string {
  const { at, stages, tiers } = report;
  const parts = [
    `${colors.dim(`${instantText(Date.parse(at))} UTC`)}\n`,
    stageTable(stages, colors),
    tierTable(tiers, colors),
    letterTable(report, colors),
    processTable(report, colors),
  ];
  const notes = notesOf(report).map((note) => `${colors.dim(visibleCell(note))}\n`);
  return [...parts, notes.join("")].filter((part) => part !== "").join("\n");
}

function stageTable(stages: readonly StageReport[], { bold, dim, yellow, red }: Colors): string {
  const rows = stages.map((stage) => [
    stage.stage,
    stage.destination ?? "-",
    countText(stage.lag),
    stage.oldestMs === null ? "-" : ageText(stage.oldestMs),
    countText(stage.donePerMinute),
    countText(stage.failedPerMinute),
    countText(stage.deadLettersLastDay),
    breakerText(stage),
  ]);
  const width = alignRight(rows, STAGE_HEAD, [2, 4, 5, 6]);
  return table(width.head, width.rows, (cell, row, column) => {
    const stage = stages[row];
    if (stage === undefined) return bold(cell);
    // Records in delay topics are meant to grow old.
    const isOld = stage.stage !== "delay" && (stage.oldestMs ?? 0) > OLD_MS;
    if ((column === 2 || column === 3) && isOld) return yellow(cell);
    if (column === 5 && (stage.failedPerMinute ?? 0) > 0) return yellow(cell);
    if (column === 6 && (stage.deadLettersLastDay ?? 0) > 0) return yellow(cell);
    if (column === 7 && (stage.breakers?.open ?? 0) > 0) return red(cell);
    return cell.trim() === "-" ? dim(cell) : cell;
  });
}

function breakerText({ breakers }: StageReport): string {
  if (breakers === null) return "-";
  const { endpoints, open, halfOpen } = breakers;
  const of = (count: number, state: string) =>
    endpoints === 1 ? state : `${count} of ${endpoints} ${state}`;
  if (open > 0) return of(open, "open");
  return halfOpen > 0 ? of(halfOpen, "half-open") : "closed";
}

function tierTable(tiers: readonly TierReport[], { bold, dim, yellow }: Colors): string {
  const rows = tiers.map(({ tier, waiting, oldestMs, dueInMs, retired }) => [
    retired ? `${tier} (retired)` : tier,
    countText(waiting),
    oldestMs === null ? "-" : ageText(oldestMs),
    dueText(dueInMs),
  ]);
  const width = alignRight(rows, TIER_HEAD, [1]);
  return table(width.head, width.rows, (cell, row, column) => {
    const tier = tiers[row];
    if (tier === undefined) return bold(cell);
    if (column === 3 && (tier.dueInMs ?? 0) < -OVERDUE_MS) return yellow(cell);
    return cell.trim() === "-" ? dim(cell) : cell;
  });
}

function dueText(dueInMs: number | null): string {
  if (dueInMs === null) return "-";
  return dueInMs >= 0 ? `in ${ageText(dueInMs)}` : `overdue ${ageText(-dueInMs)}`;
}

function letterTable({ deadLetters }: StatusReport, { bold, yellow }: Colors): string {
  if (deadLetters === null) return "";
  const { byReason, lastDay, retained } = deadLetters;
  const reasons = Object.entries(byReason ?? {}).sort(([, one], [, other]) => other - one);
  const rows = [
    ...reasons.map(([reason, count]) => [reason || "(no reason)", countText(count)]),
    ["all", `${countText(lastDay)}, ${countText(retained)} retained`],
  ];
  return table(LETTER_HEAD, rows, (cell, row) => {
    if (row < 0) return bold(cell);
    return row < reasons.length ? yellow(cell) : cell;
  });
}

function processTable({ processes }: StatusReport, { bold, dim, yellow }: Colors): string {
  if (processes.length === 0) return "";
  const rows = processes.map(({ admin, configHash }) => [admin, configHash ?? "-"]);
  const differ = hashesOf(processes).length > 1;
  return table(PROCESS_HEAD, rows, (cell, row, column) => {
    if (row < 0) return bold(cell);
    if (cell.trim() === "-") return dim(cell);
    return column === 1 && differ ? yellow(cell) : cell;
  });
}

function hashesOf(processes: StatusReport["processes"]): readonly string[] {
  return [...new Set(processes.flatMap(({ configHash }) => configHash ?? []))];
}

function notesOf(report: StatusReport): readonly string[] {
  const { stages, tiers, deadLetters, processes } = report;
  const unreachable = processes.filter(({ error }) => error !== null);
  return [
    ...stages.flatMap(({ stage, destination, halts }) =>
      halts.map((halt) => haltText(destination ?? stage, halt)),
    ),
    ...(hashesOf(processes).length > 1
      ? ["The processes run different configurations: docs/operations.md#different-hashes"]
      : []),
    ...processes.flatMap(({ admin, brokersAway }) =>
      brokersAway.map(({ broker, since }) => {
        const at = `${instantText(Date.parse(since))} UTC`;
        return `${admin}: the Kafka broker ${broker} does not answer it since ${at}.`;
      }),
    ),
    ...processes.flatMap(configurationNotes),
    ...report.blockedTopics.map(blockedText),
    ...stages.flatMap(({ stage, destination, note }) =>
      note === null ? [] : `${destination ?? stage}: ${note}.`,
    ),
    ...tiers
      .filter(({ waiting }) => waiting === null)
      .map(({ tier }) => `delay ${tier}: its topic does not exist.`),
    ...(deadLetters === null ? ["Dead letters: their topic does not exist."] : []),
    ...(deadLetters?.byReason === null
      ? ["Dead letters: too many to count by reason; see switchyard dead-letters list --since 1h."]
      : []),
    ...unreachable.map(
      ({ admin, error }) => `${admin} cannot be reached (${error}): its work is not in the rates.`,
    ),
    ...(processes.length === 0
      ? ["Rates and breakers are known to the processes: --admin HOST:PORT for each of them."]
      : []),
  ];
}

function haltText(what: string, { topic, partition, offset }: HaltReport): string {
  const where = `${topic}, partition ${partition}, offset ${offset}`;
  const command = skipCommand({ topic, partition, offset });
  return `${what}: halted at a damaged batch in ${where}. Bring the batch back, or give it up: ${command}`;
}

function configurationNotes(process: StatusReport["processes"][number]): readonly string[] {
  const { admin, configInvalidSince, settingsToRestart, destinationsWaiting } = process;
  const notes: string[] = [];
  if (configInvalidSince !== null) {
    const since = `${instantText(Date.parse(configInvalidSince))} UTC`;
    notes.push(
      `${admin} refuses the configuration file since ${since}, and runs an earlier one: /readyz names the problem.`,
    );
  }
  if (settingsToRestart > 0)
    notes.push(`${admin}: ${settingsToRestart} setting(s) wait for a restart.`);
  if (destinationsWaiting > 0) {
    notes.push(`${admin}: ${destinationsWaiting} destination(s) wait for their topics.`);
  }
  return notes;
}

function blockedText({ topic, since, wentAround }: BlockedTopicReport): string {
  const at = `${instantText(Date.parse(since))} UTC`;
  if (wentAround === null) return `${topic} takes nothing since ${at}: its records wait.`;
  return `${topic} takes nothing since ${at}: ${countText(wentAround)} deliveries went around it.`;
}

/** Fractions, which only rates have, up to 10. */
function countText(count: number | null): string {
  if (count === null) return "-";
  return (count < 10 ? count : Math.round(count)).toLocaleString("en");
}

/** Numbers below each other; `-` too. */
function alignRight(
  rows: readonly (readonly string[])[],
  head: readonly string[],
  columns: readonly number[],
): { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] } {
  const pad = (cells: readonly string[]) =>
    cells.map((cell, column) => {
      if (!columns.includes(column)) return cell;
      const widths = [head, ...rows].map((row) => row[column]?.length ?? 0);
      return cell.padStart(Math.max(...widths));
    });
  return { head: pad(head), rows: rows.map(pad) };
}

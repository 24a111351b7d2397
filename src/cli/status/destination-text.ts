/**
 * The tables of destinations and of their endpoints.
 *
 *   the state of a destination           is shown as
 *   delivering, untried                  the same
 *   failing                              failing since 09:12:03: 66 % of attempts in the last minute
 *   ... not attempted for a minute       failing since 09:12:03
 *   held by its endpoints                held since 09:12:40 by breaker (or retry-after)
 *   ... and failing                      held since 09:12:40 by breaker, failing since 09:12:03: ...
 *   disabled                             held since 08:00:00: disabled
 *   paused                               held since 08:00:00: paused by command until 10:00:00
 *   so in 1 of 3 processes               the same, with (1 of 3 processes)
 *   not known                            -
 *
 * Endpoints are shown of 20 destinations at most, or of those that fail.
 */

import { visibleCell } from "../../domain/escape-control.ts";
import { ageText } from "../age.ts";
import { percentText } from "../count.ts";
import type { Colors } from "../shell.ts";
import { table } from "../table.ts";
import { alignRight, countText, sinceText } from "./columns.ts";
import {
  type DestinationReport,
  type EndpointReport,
  isFailing,
  type StateReport,
} from "./destinations.ts";

const HEAD = [
  "DESTINATION",
  "WAITING",
  "IN TIERS",
  "OLDEST",
  "DONE/MIN",
  "FAILED/MIN",
  "DEAD LETTERS 24H",
  "LAST OUTCOME",
  "NEXT ATTEMPT",
  "STATE",
];
const ENDPOINT_HEAD = ["ENDPOINT", "KEY", "BREAKER", "LAST OUTCOME", "STATE"];
/** A destination that keeps up has nothing this old. */
const OLD_MS = 60_000;
const ENDPOINTS_OF = 20;

export function destinationTable(
  destinations: readonly DestinationReport[],
  nowMs: number,
  { bold, dim, yellow, red }: Colors,
): string {
  if (destinations.length === 0) return "";
  const rows = destinations.map((each) => [
    each.destination,
    countText(each.waiting),
    countText(each.waitingInTiers),
    each.oldestMs === null ? "-" : ageText(each.oldestMs),
    countText(each.donePerMinute),
    countText(each.failedPerMinute),
    countText(each.deadLettersLastDay),
    outcomeText(each.last, nowMs),
    nextText(each.nextAttemptAt, nowMs),
    stateText(each, nowMs),
  ]);
  const width = alignRight(rows, HEAD, [1, 2, 4, 5, 6]);
  return table(width.head, width.rows, (cell, row, column) => {
    const each = destinations[row];
    if (each === undefined) return bold(cell);
    if (column === 9 && isFailing(each)) return red(cell);
    if (column === 9 && each.held !== null) return yellow(cell);
    if ((column === 1 || column === 3) && (each.oldestMs ?? 0) > OLD_MS) return yellow(cell);
    if (column === 5 && (each.failedPerMinute ?? 0) > 0) return yellow(cell);
    if (column === 6 && (each.deadLettersLastDay ?? 0) > 0) return yellow(cell);
    return cell.trim() === "-" ? dim(cell) : cell;
  });
}

export function endpointTable(
  destinations: readonly DestinationReport[],
  nowMs: number,
  { bold, dim, red }: Colors,
): string {
  const shown = destinations.length > ENDPOINTS_OF ? destinations.filter(isFailing) : destinations;
  const endpoints = shown.flatMap((each) => each.endpoints);
  if (endpoints.length === 0) return "";
  const rows = endpoints.map((each) => [
    each.name,
    each.key,
    each.breaker ?? "-",
    outcomeText(each.last, nowMs),
    endpointStateText(each, nowMs),
  ]);
  return table(ENDPOINT_HEAD, rows, (cell, row, column) => {
    const each = endpoints[row];
    if (each === undefined) return bold(cell);
    const isBad = each.breaker === "open" || each.breaker === "probing";
    if (column === 2 && isBad) return red(cell);
    if (column === 4 && each.failingSince !== null) return red(cell);
    return column === 1 || cell.trim() === "-" ? dim(cell) : cell;
  });
}

export function stateText(report: StateReport, nowMs: number) {
  const { state, held, processes } = report;
  const { owning } = processes;
  const share = (count: number) =>
    count === 0 || count === owning ? "" : ` (${count} of ${owning} processes)`;
  const failing = failingText(report, nowMs);
  const fails = failing === null ? null : `${failing}${share(processes.failing)}`;
  if (held === null) return fails ?? state ?? "-";
  const since = held.since === null ? "held" : `held since ${sinceText(held.since, nowMs)}`;
  const isStill = held.because === "paused" || held.because === "disabled";
  const why = isStill ? `: ${held.because}${pausedText(held, nowMs)}` : ` by ${held.because}`;
  return `${since}${why}${share(processes.held)}${fails === null ? "" : `, ${fails}`}`;
}

function failingText(
  { failingSince, failedShare }: Pick<StateReport, "failingSince" | "failedShare">,
  nowMs: number,
): string | null {
  if (failingSince === null) return null;
  const share =
    failedShare === null ? "" : `: ${percentText(failedShare)} of attempts in the last minute`;
  return `failing since ${sinceText(failingSince, nowMs)}${share}`;
}

function pausedText({ by, until }: NonNullable<StateReport["held"]>, nowMs: number): string {
  const who = by === undefined ? "" : ` by ${visibleCell(by)}`;
  return until === null ? who : `${who} until ${sinceText(until, nowMs)}`;
}

function endpointStateText(report: EndpointReport, nowMs: number) {
  const { awayUntil, last } = report;
  const away = awayUntil === null ? null : `left alone until ${sinceText(awayUntil, nowMs)}`;
  const parts = [failingText(report, nowMs), away].filter((part) => part !== null);
  if (parts.length > 0) return parts.join(", ");
  return last === null ? "-" : "accepting";
}

function outcomeText(last: EndpointReport["last"], nowMs: number): string {
  if (last === null) return "-";
  return `${last.cause} ${ageText(nowMs - Date.parse(last.at))} ago`;
}

function nextText(at: string | null, nowMs: number): string {
  if (at === null) return "-";
  const inMs = Date.parse(at) - nowMs;
  return inMs <= 0 ? "now" : `in ${ageText(inMs)}`;
}

/**
 * Formats the tables of destinations and of their endpoints.
 *
 *   the state of a destination           is shown as
 *   delivering, idle                     the same
 *   delivering, last response not 2xx    delivering, but the last attempt was rejected (or failed)
 *   failing                              failing since 09:12:03: 66 % of attempts in the last minute
 *   ... nothing failed for a minute      failing since 09:12:03: recovering, no attempt failed in the last minute
 *   ... not attempted for a minute       failing since 09:12:03
 *   on hold by its endpoints             on hold since 09:12:40: circuit open (or Retry-After)
 *   on hold as its endpoints are gone    on hold since 09:12:40: 410 Gone
 *   on hold without a token              on hold since 09:12:40: no token from https://id.example.com: status 401
 *   ... and failing                      on hold since 09:12:40: circuit open, failing since 09:12:03: ...
 *   disabled                             on hold since 08:00:00: disabled
 *   paused                               on hold since 08:00:00: paused until 10:00:00 (command)
 *   any of these, with blocked users     the same; 2 users blocked, 31 deliveries waiting
 *   any of these in 1 of 3 processes     the same, with (1 of 3 processes)
 *   unknown                              -
 *
 * At most 100 destinations are shown, the worst first, and the others are counted. If more than 20 destinations are
 * shown, only the endpoints of failing ones are listed. Skipped calls are shown only if a single destination is
 * shown.
 */

import { ageText, counted, failedShareText } from "../../base/words/count.ts";
import { blockedText, HOLD_TEXTS, isSkipReason, SKIP_TEXTS } from "../../base/words/reasons.ts";
import { alignRight, table } from "../../base/words/table.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { instantText } from "../connect/instant.ts";
import type { Colors } from "../connect/shell.ts";
import {
  type DestinationReport,
  type EndpointReport,
  isEndpointFailing,
  isFailing,
  type StateReport,
} from "./status-report.ts";

const HEAD = [
  "DESTINATION",
  "BACKLOG",
  "AWAITING RETRY",
  "OLDEST",
  "DELIVERED/MIN",
  "FAILED/MIN",
  "DEAD LETTERS 24H",
  "LAST RESPONSE",
  "NEXT ATTEMPT",
  "STATE",
];
const SKIPPED_HEAD = ["SKIPPED CALLS", "COUNT", "REASON"];
const ENDPOINT_HEAD = ["ENDPOINT", "ID", "CIRCUIT", "LAST RESPONSE", "STATE"];
/** If a destination keeps up, its deliveries never get this old. */
const OLD_MS = 60_000;
/** If an endpoint is not failing, what its last response shows about it. */
const ENDPOINT_TEXTS = {
  accepted: "accepting",
  rejected: "rejecting",
  retry: "last attempt failed",
};
const LAST_TEXTS = {
  accepted: "",
  rejected: ", but the last attempt was rejected",
  retry: ", but the last attempt failed",
};
const ENDPOINTS_OF = 20;
const DESTINATIONS_MAX = 100;

/** @param all all destinations, the worst first, as `bySeverity` returns them. */
export function destinationTable(
  all: readonly DestinationReport[],
  nowMs: number,
  { bold, dim, yellow, red }: Colors,
): string {
  if (all.length === 0) return "";
  const destinations = all.slice(0, DESTINATIONS_MAX);
  const rows = destinations.map((each) => [
    each.destination,
    countText(each.waiting),
    countText(each.awaitingRetry),
    each.oldestMs === null ? "-" : ageText(each.oldestMs),
    countText(each.donePerMinute),
    countText(each.failedPerMinute),
    countText(each.deadLettersLastDay),
    outcomeText(each.last, nowMs),
    nextText(each.nextAttemptAt, nowMs),
    `${stateText(each, nowMs)}${orderText(each)}`,
  ]);
  const width = alignRight(rows, HEAD, [1, 2, 4, 5, 6]);
  const shown = table(width.head, width.rows, (cell, row, column) => {
    const each = destinations[row];
    if (each === undefined) return bold(cell);
    if (column === 9 && isFailing(each)) return red(cell);
    if (column === 9 && each.hold !== null) return yellow(cell);
    if ((column === 1 || column === 3) && (each.oldestMs ?? 0) > OLD_MS) return yellow(cell);
    if (column === 5 && (each.failedPerMinute ?? 0) > 0) return yellow(cell);
    if (column === 6 && (each.deadLettersLastDay ?? 0) > 0) return yellow(cell);
    return cell.trim() === "-" ? dim(cell) : cell;
  });
  return `${shown}${moreText(all.slice(DESTINATIONS_MAX))}`;
}

function moreText(others: readonly DestinationReport[]): string {
  if (others.length === 0) return "";
  const bad = others.filter((each) => isFailing(each) || each.hold !== null).length;
  return (
    `${counted(others.length, "more destination")}, ${bad.toLocaleString("en")} failing or on hold. ` +
    "--destination <id> shows one of them, and --json shows all.\n"
  );
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
    each.id,
    each.circuit ?? "-",
    outcomeText(each.last, nowMs),
    endpointStateText(each, nowMs),
  ]);
  return table(ENDPOINT_HEAD, rows, (cell, row, column) => {
    const each = endpoints[row];
    if (each === undefined) return bold(cell);
    const isBad = each.circuit === "open" || each.circuit === "half-open";
    if (column === 2 && isBad) return red(cell);
    if (column === 4 && isEndpointFailing(each)) return red(cell);
    return column === 1 || cell.trim() === "-" ? dim(cell) : cell;
  });
}

/**
 * A table of the calls that the destination has not received since the processes started. Empty if several
 * destinations are shown, or if no calls were skipped.
 */
export function skippedTable(destinations: readonly DestinationReport[], { bold }: Colors): string {
  const [only, ...others] = destinations;
  const counts = Object.entries(only?.skipped ?? {});
  if (others.length > 0 || counts.length === 0) return "";
  const rows = counts.map(([reason, count]) => [
    reason,
    countText(count),
    isSkipReason(reason) ? SKIP_TEXTS[reason] : "-",
  ]);
  const width = alignRight(rows, SKIPPED_HEAD, [1]);
  return table(width.head, width.rows, (cell, row) => (row < 0 ? bold(cell) : cell));
}

export function stateText(report: StateReport, nowMs: number) {
  const { state, hold, processes, last } = report;
  const { owning } = processes;
  const share = (count: number) =>
    count === 0 || count === owning ? "" : ` (${count} of ${owning} processes)`;
  const failing = failingText(report, nowMs);
  const fails = failing === null ? null : `${failing}${share(processes.failing)}`;
  if (hold === null) {
    const but = state !== "delivering" || last === null ? "" : LAST_TEXTS[last.outcome];
    return fails ?? `${state ?? "-"}${but}`;
  }
  const since = hold.since === null ? "on hold" : `on hold since ${sinceText(hold.since, nowMs)}`;
  const why =
    hold.error === undefined
      ? `${HOLD_TEXTS[hold.reason]}${pausedText(hold, nowMs)}`
      : errorText(hold.error);
  return `${since}: ${why}${share(processes.onHold)}${fails === null ? "" : `, ${fails}`}`;
}

function orderText({ order }: StateReport): string {
  return order === undefined || order.blockedUsers === 0 ? "" : `; ${blockedText(order)}`;
}

function failingText(
  { failingSince, failedShare }: Pick<StateReport, "failingSince" | "failedShare">,
  nowMs: number,
): string | null {
  if (failingSince === null) return null;
  const share = failedShare === null ? "" : `: ${failedShareText(failedShare)}`;
  return `failing since ${sinceText(failingSince, nowMs)}${share}`;
}

/** Removes the period of a sentence, so that the sentence can be part of another one. */
function errorText(error: string): string {
  return visibleCell(`${error[0]?.toLowerCase()}${error.slice(1)}`);
}

/** The time until which a destination is paused, and who paused it. */
function pausedText({ reason, by, until }: NonNullable<StateReport["hold"]>, nowMs: number) {
  if (reason !== "paused") return "";
  const end = until === null ? "" : ` until ${sinceText(until, nowMs)}`;
  return by === undefined ? end : `${end} (${visibleCell(by)})`;
}

function endpointStateText(report: EndpointReport, nowMs: number) {
  const { unavailable, last } = report;
  const parts = [failingText(report, nowMs), unavailableText(unavailable, nowMs)].filter(
    (part) => part !== null,
  );
  if (parts.length > 0) return parts.join(", ");
  return last === null ? "-" : ENDPOINT_TEXTS[last.outcome];
}

function unavailableText(unavailable: EndpointReport["unavailable"], nowMs: number): string | null {
  if (unavailable === null) return null;
  const { reason, since, until } = unavailable;
  const time =
    until === null ? `since ${sinceText(since, nowMs)}` : `until ${sinceText(until, nowMs)}`;
  return `${HOLD_TEXTS[reason]} ${time}`;
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

/** Formats cells that several tables of the status contain. */
const DAY_MS = 86_400_000;

/** Formats a count or a rate. A rate below 10 that is not an integer gets one decimal place. */
export function countText(count: number | null): string {
  if (count === null) return "-";
  return (count < 10 ? count : Math.round(count)).toLocaleString("en");
}

/** The time of day in UTC. If the time is more than a day ago, the date is included. */
export function sinceText(at: string, nowMs: number): string {
  const text = instantText(Date.parse(at));
  return nowMs - Date.parse(at) < DAY_MS ? text.slice(11) : text;
}

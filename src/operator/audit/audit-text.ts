/**
 * Formats the report of an audit. Unless something is missing or too much, two sides of each row are equal:
 *
 *   deliveries + twice = delivered + queued + awaiting retry + dead letters + suppressed + waiting + dropped
 *
 * The last two columns are shown only if one of their numbers is not zero: destinations with a strict order have them.
 *
 *   a destination                                        RESULT
 *   has deliveries that are missing or too many          their numbers
 *   ... that cannot be told from others                  how many of them differ
 *   is not audited, because other programs read its      not audited
 *     topic, or it is not configured any more
 *   otherwise                                            closes
 *
 *   exit status   if
 *   0             every sum closes
 *   3             a delivery or a call is missing, doubled, extra, skipped or unread
 *
 * What cannot be known does not change the exit status, unless deliveries are missing that cannot be named.
 */

import { counted } from "../../base/words/count.ts";
import { alignRight, table } from "../../base/words/table.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { instantText } from "../connect/instant.ts";
import type { AuditReport, DestinationSums } from "./audit.ts";
import type { Finding } from "./locate.ts";

/** More findings are only counted. */
const SHOWN_MAX = 100;

export function closes({ findings, unnamed }: AuditReport): boolean {
  return findings.length === 0 && unnamed.length === 0;
}

export function auditText(report: AuditReport): string {
  const { destinations, findings, unnamed, unknown, crashes } = report;
  const sorted = [...destinations].sort(([one], [other]) => (one < other ? -1 : 1));
  const rows = sorted.map(([destination, sums]) => rowOf(destination, sums));
  const isStrict = sorted.some(([, { waiting, dropped }]) => waiting !== 0 || dropped !== 0);
  const shown = (row: readonly string[]) => (isStrict ? row : row.toSpliced(8, 2));
  const head = shown(HEADER);
  const numbers = [...head.keys()].slice(1, -1);
  const aligned = alignRight(rows.map(shown), head, numbers);
  const details = sorted.flatMap(([destination, sums]) => detailsOf(destination, sums));
  const crashed = crashes.map(
    ({ group, atMs }) => `one of the group ${group}, before ${instantText(atMs)}`,
  );
  const more = findings.length - SHOWN_MAX;
  const problems = [
    ...unnamed,
    ...findings.slice(0, SHOWN_MAX).map(findingText),
    ...(more > 0 ? [`${counted(more, "more finding")}, which --json lists`] : []),
  ];
  return [
    callsText(report),
    ...(rows.length === 0 ? [] : ["", table(aligned.head, aligned.rows).trimEnd()]),
    ...(details.length === 0 ? [] : ["", ...details]),
    ...section("Processes crashed, or lost their partitions:", crashed),
    ...section("What is not known:", unknown),
    ...(closes(report) ? ["", "Every sum closes."] : section("Not every sum closes:", problems)),
    "",
  ].join("\n");
}

function section(title: string, sentences: readonly string[]): readonly string[] {
  if (sentences.length === 0) return [];
  return ["", title, ...sentences.map((sentence) => `  ${visibleCell(sentence)}`)];
}

function callsText({ fromMs, toMs, calls }: AuditReport): string {
  const { routed, repeated, waiting, deadLettered } = calls;
  const more = [
    ...[...deadLettered].map(([reason, count]) => `${counted(count, "dead letter")}: ${reason}`),
    ...(repeated > 0 ? [`${numberText(repeated)} routed twice after a crash`] : []),
  ];
  const of = more.length === 0 ? "" : ` (${more.join(", ")})`;
  return (
    `Calls received from ${instantText(fromMs)} to ${instantText(toMs)} UTC: ` +
    `${numberText(routed)} routed${of}, ${numberText(waiting)} waiting.`
  );
}

const HEADER = [
  "DESTINATION",
  "DELIVERIES",
  "TWICE",
  "DELIVERED",
  "QUEUED",
  "AWAITING RETRY",
  "DEAD LETTERS",
  "SUPPRESSED",
  "WAITING",
  "DROPPED",
  "RESULT",
];

function rowOf(destination: string, sums: DestinationSums): readonly string[] {
  const { routed, notified, replayed, parts, isAudited } = sums;
  const written = numberText(routed + notified + replayed + parts);
  if (!isAudited) return [destination, written, ...Array(8).fill("-"), "not audited"];
  const { repeated, delivered, queued, awaitingRetry, suppressed, waiting, dropped } = sums;
  const dead = total(sums.deadLettered);
  const ended = [repeated, delivered, queued, awaitingRetry, dead, suppressed, waiting, dropped];
  return [destination, written, ...ended.map(numberText), resultOf(sums)];
}

function resultOf({ missing, tooMany, unnamed }: DestinationSums): string {
  const problems = [
    ...(missing > 0 ? [`${numberText(missing)} missing`] : []),
    ...(tooMany > 0 ? [`${numberText(tooMany)} too many`] : []),
    ...(unnamed > 0 ? [`${numberText(unnamed)} differ`] : []),
  ];
  return problems.length === 0 ? "closes" : problems.join(", ");
}

function detailsOf(destination: string, sums: DestinationSums): readonly string[] {
  const { notified, replayed, parts, deadLettered, skipped } = sums;
  const texts = [
    ...(notified > 0 ? [counted(notified, "delete notification")] : []),
    ...(replayed > 0 ? [counted(replayed, "replayed delivery", "replayed deliveries")] : []),
    ...(parts > 0
      ? [counted(parts, "part for another endpoint", "parts for other endpoints")]
      : []),
    ...reasonsOf("dead letters", deadLettered),
    ...reasonsOf("calls skipped", skipped),
  ];
  return texts.length === 0 ? [] : [`${visibleCell(destination)}: ${texts.join("; ")}`];
}

function reasonsOf(title: string, counts: ReadonlyMap<string, number>): readonly string[] {
  if (counts.size === 0) return [];
  const reasons = [...counts].map(([reason, count]) => `${numberText(count)} ${reason}`);
  return [`${title}: ${visibleCell(reasons.join(", "))}`];
}

function findingText({ kind, messageId, destination, place, last }: Finding): string {
  const at = `${place.topic}/${place.partition}/${place.offset}`;
  const forWhom = destination === null ? "" : ` for ${destination}`;
  return `${kind}: ${messageId ?? "a record"}${forWhom} at ${at}: ${last}`;
}

/** One JSON object: the report, with times in ISO 8601. */
export function auditJson(report: AuditReport): string {
  const { fromMs, toMs, calls, destinations, findings, unnamed, unknown, crashes } = report;
  const json = {
    closes: closes(report),
    from: new Date(fromMs).toISOString(),
    until: new Date(toMs).toISOString(),
    calls: { ...calls, deadLettered: Object.fromEntries(calls.deadLettered) },
    destinations: [...destinations].map(([destination, { isAudited, ...sums }]) => ({
      destination,
      audited: isAudited,
      ...sums,
      deadLettered: Object.fromEntries(sums.deadLettered),
      skipped: Object.fromEntries(sums.skipped),
    })),
    findings: findings.map(({ kind, messageId, destination, place, atMs, last }) => {
      const at = atMs === null ? null : new Date(atMs).toISOString();
      return { kind, messageId, destination, ...place, at, last };
    }),
    unnamed,
    unknown,
    crashes: crashes.map(({ group, atMs }) => ({ group, before: new Date(atMs).toISOString() })),
  };
  return `${JSON.stringify(json)}\n`;
}

function numberText(count: number): string {
  return count.toLocaleString("en");
}

function total(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}

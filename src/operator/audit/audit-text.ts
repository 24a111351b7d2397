/**
 * Formats the report of an audit.
 *
 *   exit status   if
 *   0             every sum closes
 *   3             a delivery or a call is missing, doubled, extra, skipped or unread
 *
 * What cannot be known does not change the exit status, unless deliveries are missing that cannot be named.
 */

import { counted } from "../../base/words/count.ts";
import { table } from "../../base/words/table.ts";
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
  const { calls, destinations, findings, unnamed, unknown, crashes } = report;
  const dead = total(calls.deadLettered);
  const rows = [...destinations].sort(([one], [other]) => (one < other ? -1 : 1));
  const shown = findings.slice(0, SHOWN_MAX);
  const more = findings.length - shown.length;
  return [
    `Calls received from ${instantText(report.fromMs)} to ${instantText(report.toMs)} UTC: ` +
      `${counted(calls.routed, "call")} routed, ${dead} of them dead-lettered; ${calls.waiting} wait.`,
    "",
    table(
      HEADER,
      rows.map(([destination, sums]) => rowOf(destination, sums)),
    ).trimEnd(),
    ...rows.flatMap(([destination, sums]) => reasonsOf(destination, sums)),
    ...(crashes.length === 0 ? [] : ["", `Owners of partitions that crashed:`]),
    ...crashes.map(({ group, atMs }) => `  ${group}, before ${instantText(atMs)}`),
    ...(unknown.length === 0 ? [] : ["", "What cannot be known:"]),
    ...unknown.map((sentence) => `  ${visibleCell(sentence)}`),
    "",
    closes(report) ? "Every sum closes." : "Not every sum closes:",
    ...unnamed.map((sentence) => `  ${visibleCell(sentence)}`),
    ...shown.map((finding) => `  ${findingText(finding)}`),
    ...(more > 0 ? [`  and ${more} more, which --json lists`] : []),
    "",
  ].join("\n");
}

const HEADER = [
  "DESTINATION",
  "WRITTEN",
  "DELIVERED",
  "QUEUED",
  "AWAITING RETRY",
  "DEAD LETTERS",
  "SUPPRESSED",
  "SKIPPED",
  "TWICE",
  "SUM",
];

function rowOf(destination: string, sums: DestinationSums): readonly string[] {
  const { routed, notified, replayed, delivered, queued, awaitingRetry, suppressed } = sums;
  const numbers = [
    ...[routed + notified + replayed, delivered, queued, awaitingRetry],
    ...[total(sums.deadLettered), suppressed, total(sums.skipped), sums.repeated],
  ];
  const isClosed = sums.missing + sums.tooMany === 0;
  const state = isClosed ? "closes" : `${sums.missing} missing, ${sums.tooMany} too many`;
  return [destination, ...numbers.map((number) => `${number}`), state];
}

function reasonsOf(destination: string, sums: DestinationSums): readonly string[] {
  const { notified, replayed, parts, deadLettered, skipped } = sums;
  const texts = [
    ...(notified > 0 ? [`${notified} delete notifications`] : []),
    ...(replayed > 0 ? [`${replayed} replayed`] : []),
    ...(parts > 0 ? [`${parts} more parts, one for each endpoint`] : []),
    ...[...deadLettered].map(([reason, count]) => `${count} dead letters: ${reason}`),
    ...[...skipped].map(([reason, count]) => `${count} skipped: ${reason}`),
  ];
  return texts.length === 0 ? [] : [`  ${visibleCell(destination)}: ${texts.join("; ")}`];
}

function findingText({ kind, messageId, destination, place, last }: Finding): string {
  const at = `${place.topic}/${place.partition}/${place.offset}`;
  const what = messageId === null ? "a record" : visibleCell(messageId);
  const forWhom = destination === null ? "" : ` for ${visibleCell(destination)}`;
  return `${kind}: ${what}${forWhom} at ${at}: ${last}`;
}

/** One JSON object: the report, with times in ISO 8601. */
export function auditJson(report: AuditReport): string {
  const { fromMs, toMs, calls, destinations, findings, unnamed, unknown, crashes } = report;
  const json = {
    closes: closes(report),
    from: new Date(fromMs).toISOString(),
    until: new Date(toMs).toISOString(),
    calls: { ...calls, deadLettered: Object.fromEntries(calls.deadLettered) },
    destinations: [...destinations].map(([destination, sums]) => ({
      destination,
      ...sums,
      deadLettered: Object.fromEntries(sums.deadLettered),
      skipped: Object.fromEntries(sums.skipped),
    })),
    findings: findings.map(({ kind, messageId, destination, place, last }) => {
      return { kind, messageId, destination, ...place, last };
    }),
    unnamed,
    unknown,
    crashes: crashes.map(({ group, atMs }) => ({ group, before: new Date(atMs).toISOString() })),
  };
  return `${JSON.stringify(json)}\n`;
}

function total(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}

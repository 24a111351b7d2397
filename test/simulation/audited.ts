/** Runs an audit in a simulated world, and returns what it should not have found. */

import type { DestinationId } from "../../src/domain/ids.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { type AuditReport, audit } from "../../src/operator/audit/audit.ts";
import type { ManualClock } from "../support/clock/manual-clock.ts";
import { groups, SECOND_MS, topics } from "./setup.ts";

interface Sent {
  readonly calls: number;
  /** True if acknowledgments were lost: the producer in memory then writes records twice, unlike the program's own. */
  readonly isRepeated: boolean;
  /** True if writes took so long that offsets may have been committed before the ledger was written. */
  readonly isLate: boolean;
}

export async function auditProblems(
  kafka: Kafka,
  clock: ManualClock,
  destinations: readonly DestinationId[],
  sent: Sent,
): Promise<string[]> {
  const { signal } = new AbortController();
  const source = { kafka, topics, groups, destinations, signal, onRead: () => undefined };
  const reports: AuditReport[] = [];
  const auditing = audit(source, { fromMs: 0, toMs: clock.nowMs() }).then((report) => {
    reports.push(report);
  });
  while (reports.length === 0) await clock.advance(SECOND_MS);
  await auditing;
  return reports.flatMap((report) => {
    const isIncomplete = sent.isLate && report.unknown.some(isWithoutLedger);
    const sure = isIncomplete ? { ...report, unnamed: [] } : report;
    return [...sentences(sure, sent), ...(isIncomplete ? [] : openSums(report))];
  });
}

function isWithoutLedger(sentence: string): boolean {
  return /processed without a ledger$|cannot be known$/.test(sentence);
}

function sentences({ calls, findings, unnamed, unknown }: AuditReport, sent: Sent): string[] {
  const isOther = (sentence: string) =>
    !(sentence.startsWith("the ledger begins at") || (sent.isLate && isWithoutLedger(sentence)));
  const found = [...unnamed, ...unknown].filter(isOther).map((sentence) => `audit: ${sentence}`);
  for (const { kind, messageId, destination, last } of findings) {
    if (kind === "doubled" && sent.isRepeated) continue;
    found.push(`audit: ${kind} ${messageId} for ${destination}: ${last}`);
  }
  if (calls.routed < sent.calls) found.push(`audit: ${calls.routed} of ${sent.calls} were routed`);
  return found;
}

/** The equation of each row (docs/guarantees.md#audit), and destinations whose deliveries ended without an outcome. */
function openSums({ destinations }: AuditReport): string[] {
  return [...destinations].flatMap(([destination, sums]) => {
    const { routed, notified, replayed, parts, repeated, missing, tooMany } = sums;
    const dead = [...sums.deadLettered.values()].reduce((sum, count) => sum + count, 0);
    const left = sums.queued + sums.waiting + sums.awaitingRetry;
    const ended = sums.delivered + sums.suppressed + dead + sums.dropped + left;
    const written = routed + notified + replayed + parts + repeated + tooMany - missing;
    if (ended === written && parts >= 0) return [];
    return [`audit: ${written} for ${destination}, ${parts} of them parts, but ${ended} ended`];
  });
}

/**
 * Runs `switchyard audit` over all calls of a run: a second witness, which knows only the programs' own ledger.
 *
 *   law                                                       unless
 *   the audit ends, and its exit status agrees with it        -
 *   it finds what was injected, and nothing else              the records of a destination were deleted unread
 *   everything is known                                       the same; the ledger always begins with the run. A crash
 *                                                             while the ledger was slow leaves records that are not in
 *                                                             it, and many copies cannot be told from what is missing
 *   at the end, every record of `calls` was routed once,      -
 *     and nothing waits
 *   at the end, as many deliveries have ended as calls        the same
 *     were sent
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { startCommand } from "../support/kit/command.ts";
import type { Loss } from "./violation.ts";

/** What the laws need of the JSON that `switchyard audit --json` prints. */
export interface AuditOutput {
  readonly closes: boolean;
  readonly calls: { readonly routed: number; readonly waiting: number };
  readonly destinations: readonly AuditedDestination[];
  readonly findings: readonly AuditFinding[];
  readonly unnamed: readonly string[];
  readonly unknown: readonly string[];
}

export interface AuditedDestination {
  readonly destination: string;
  readonly replayed: number;
  readonly delivered: number;
  readonly suppressed: number;
  readonly queued: number;
  readonly awaitingRetry: number;
  readonly deadLettered: Readonly<Record<string, number>>;
  readonly skipped: Readonly<Record<string, number>>;
}

export interface AuditFinding {
  readonly kind: string;
  readonly messageId: string | null;
  readonly destination: string | null;
  readonly topic: string;
  readonly last: string;
}

export interface AuditEnd {
  readonly status: number | null;
  readonly err: string;
  /** Null if the command failed. */
  readonly output: AuditOutput | null;
}

export interface AuditExpected {
  /** Findings about records that were tampered with. */
  readonly injected: readonly Pick<AuditFinding, "kind" | "messageId" | "destination">[];
  readonly losses: readonly Pick<Loss, "destination">[];
  /** At the end: the number of records of `calls`, and of calls for each destination. Null while programs run. */
  readonly settled: { readonly records: number; readonly calls: number } | null;
}

/** The period of an audit is rounded to this time. */
const BIN_MS = 600_000;

/** @param config the programs' configuration, with addresses of brokers that have no proxy. */
export async function runAudit(
  directory: string,
  config: string,
  startedAtMs: number,
): Promise<AuditEnd> {
  const file = join(directory, "audit.yaml");
  writeFileSync(file, config);
  const since = new Date(startedAtMs - BIN_MS).toISOString();
  const until = new Date(Date.now() + 2 * BIN_MS).toISOString();
  const period = ["--since", since, "--until", until];
  const { ended } = startCommand(["audit", "--config", file, ...period, "--json"]);
  const { status, out, err } = await ended;
  const isReport = status === 0 || status === 3;
  return { status, err, output: isReport ? (JSON.parse(out) as AuditOutput) : null };
}

/** Sentences about broken laws. */
export function auditViolations(end: AuditEnd, expected: AuditExpected): readonly string[] {
  const { status, err, output } = end;
  if (output === null) return [`audit: it ended with ${status}: ${err.trim()}`];
  const lossy = new Set(expected.losses.map(({ destination }) => destination));
  const isIncomplete = output.unknown.some((each) => each.endsWith("processed without a ledger"));
  const found = [
    ...(output.closes === (status === 0)
      ? []
      : [`exit status ${status}, closes: ${output.closes}`]),
    ...wrongFindings(output, expected, lossy),
    ...[...output.unnamed, ...output.unknown].filter((each) => !isExcused(each, lossy)),
    ...(expected.settled === null || isIncomplete
      ? []
      : openAtTheEnd(output, expected, expected.settled, lossy)),
  ];
  return found.map((says) => `audit: ${says}`);
}

function wrongFindings(
  { findings }: AuditOutput,
  { injected }: AuditExpected,
  lossy: ReadonlySet<string>,
): readonly string[] {
  const left = injected.map(nameOf);
  const wrong = findings.flatMap((finding) => {
    const at = left.indexOf(nameOf(finding));
    if (at >= 0) left.splice(at, 1);
    const isOfLoss = finding.kind === "missing" && lossy.has(finding.destination ?? "");
    return at >= 0 || isOfLoss ? [] : [`${nameOf(finding)} in ${finding.topic}: ${finding.last}`];
  });
  return [...wrong, ...left.map((name) => `it did not find ${name}`)];
}

function nameOf({ kind, messageId, destination }: AuditExpected["injected"][number]): string {
  return `${kind} ${messageId} for ${destination}`;
}

function isExcused(sentence: string, lossy: ReadonlySet<string>): boolean {
  if (sentence.startsWith("the ledger begins at")) return true;
  if (/processed without a ledger$|cannot be known$/.test(sentence)) return true;
  return [...lossy].some((id) => sentence.startsWith(`${id}: `));
}

function openAtTheEnd(
  { calls, destinations }: AuditOutput,
  { injected }: AuditExpected,
  settled: NonNullable<AuditExpected["settled"]>,
  lossy: ReadonlySet<string>,
): readonly string[] {
  const { routed, waiting } = calls;
  const found: string[] = [];
  if (routed !== settled.records) {
    found.push(`${routed} records of calls were routed, and ${settled.records} were written`);
  }
  if (waiting > 0) found.push(`${waiting} calls wait`);
  for (const each of destinations) {
    const { destination, queued, awaitingRetry, delivered, suppressed } = each;
    if (queued + awaitingRetry > 0) {
      found.push(`${queued} queued and ${awaitingRetry} awaiting retry for ${destination}`);
    }
    const endings = delivered + suppressed + total(each.deadLettered) + total(each.skipped);
    const ended = endings - each.replayed;
    const isGone = (one: (typeof injected)[number]) =>
      one.kind === "missing" && one.destination === destination;
    if (ended + injected.filter(isGone).length < settled.calls && !lossy.has(destination)) {
      found.push(`${ended} deliveries for ${destination} ended, of ${settled.calls} calls`);
    }
  }
  return found;
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

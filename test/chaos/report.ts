/** Formats the ledger of a run, and the history of each delivery that broke a law. */

import { isAccepted } from "../support/worlds/ledger.ts";
import type { ChaosEntry, Journal } from "./journal.ts";
import { explanations, repetitions } from "./repetitions.ts";
import { recipientOf } from "./setup.ts";
import { type Exposure, LAWS, STARVED, type Violation } from "./violation.ts";

export interface Injected {
  readonly kind: string;
  readonly atMs: number;
}

export interface Broken {
  /** Null if the violation is about the whole run. */
  readonly entry: ChaosEntry | null;
  readonly violation: Violation | { readonly law: "run"; readonly says: string };
}

/** Sums of one destination. With `every`, a delivery may be both accepted and dead-lettered. */
interface Row {
  deliveries: number;
  requests: number;
  accepted: number;
  rejected: number;
  expired: number;
  repeated: number;
}

const EMPTY: Row = {
  deliveries: 0,
  requests: 0,
  accepted: 0,
  rejected: 0,
  expired: 0,
  repeated: 0,
};

export interface LedgerInput {
  readonly journal: Journal;
  readonly injected: readonly Injected[];
  readonly exposures: readonly Exposure[];
  readonly broken: readonly Broken[];
  /** Deliveries whose records a fault has deleted unread. */
  readonly excused: number;
  /** Requests that were early or late, or were recorded late. */
  readonly unclear: number;
  readonly machine: { readonly starvedMs: number; readonly lastedMs: number };
}

export function ledgerText({
  journal,
  injected,
  exposures,
  broken,
  excused,
  unclear,
  machine,
}: LedgerInput): string {
  const rows = new Map<string, Row>();
  const deadLetters = new Map<string, number>();
  const repeats = new Map<string, number>();
  for (const [entry, destination] of journal.deliveries()) {
    const row = rows.get(destination.id) ?? { ...EMPTY };
    rows.set(destination.id, row);
    row.deliveries += 1;
    row.requests += entry.requests.length;
    if (entry.requests.some(isAccepted)) row.accepted += 1;
    for (const { reason } of entry.deadLetters) {
      add(deadLetters, reason);
      if (reason === "rejected" || reason === "expired") row[reason] += 1;
    }
    const [first] = repetitions(entry, recipientOf(destination));
    if (first !== undefined) {
      row.repeated += 1;
      add(repeats, explanations(first, exposures)[0]?.kind ?? "no fault");
    }
  }
  for (const [reason = "?"] of journal.poisonDeadLetters.values()) add(deadLetters, reason);
  const faults = new Map<string, number>();
  for (const { kind } of injected) add(faults, kind);
  const laws = [...LAWS, "run"].map((law) => {
    return `${law} = ${broken.filter(({ violation }) => violation.law === law).length}`;
  });
  return [
    `calls          ${journal.calls.length}, and ${journal.poison.size} values that are no calls`,
    ...tableLines(rows),
    `dead letters   ${listed(deadLetters)}`,
    `repeated       ${listed(repeats)} (deliveries, by the fault that explains it)`,
    ...(excused > 0
      ? [`deleted        ${excused} deliveries, unread, by a fault that deletes`]
      : []),
    ...(unclear > 0
      ? [`not judged     ${unclear} times early, late or repeated: the run itself stood still`]
      : []),
    ...(machine.starvedMs > 0
      ? [
          `machine        kept programs waiting in ${seconds(machine.starvedMs)} of ` +
            `${seconds(machine.lastedMs)} s; what repeats then is "${STARVED}"`,
        ]
      : []),
    `faults         ${listed(faults)}`,
    `broken laws    ${laws.join(", ")}`,
  ].join("\n");
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(0);
}

function tableLines(rows: ReadonlyMap<string, Row>): string[] {
  const columns = Object.keys(EMPTY) as (keyof Row)[];
  const line = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(12) + cells.map((cell) => `${cell}`.padStart(12)).join("");
  return [
    line("destination", columns),
    ...[...rows].map(([id, row]) =>
      line(
        id,
        columns.map((column) => row[column]),
      ),
    ),
  ];
}

/** Everything that happened to a delivery, together with the faults in that time. */
export function history({ entry, violation }: Broken, injected: readonly Injected[]): string {
  if (entry === null) return `${violation.law}: ${violation.says}`;
  const lines = [
    ...entry.requests.map(({ atMs, endAtMs, path, attempt, status }) => ({
      atMs,
      says: `attempt ${attempt} at ${path}: ${status ?? "no response"} after ${endAtMs - atMs} ms`,
    })),
    ...entry.written.map(({ atMs, place, retryCount, attempt, dueAtMs, reason, endpoint }) => ({
      atMs,
      says: [
        `${place}, attempts ${attempt}, retry count ${retryCount}`,
        ...(dueAtMs === null ? [] : [`due at ${time(dueAtMs)}`]),
        ...(endpoint === null ? [] : [`for ${endpoint}`]),
        ...(reason === null ? [] : [reason]),
      ].join(", "),
    })),
  ];
  const fromMs = Math.min(...lines.map(({ atMs }) => atMs)) - 10_000;
  const toMs = Math.max(...lines.map(({ atMs }) => atMs));
  const around = injected
    .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    .map(({ atMs, kind }) => ({ atMs, says: `--- ${kind}` }));
  const sorted = [...lines, ...around].sort((a, b) => a.atMs - b.atMs);
  return [
    `${violation.law}: ${entry.messageId} for ${entry.destination}: ${violation.says}`,
    ...sorted.map(({ atMs, says }) => `  ${time(atMs)} ${says}`),
  ].join("\n");
}

function time(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function listed(counts: ReadonlyMap<string, number>): string {
  if (counts.size === 0) return "none";
  return [...counts].map(([key, count]) => `${key} ${count}`).join(", ");
}

/**
 * Puts together what Kafka, the configuration and the processes say of each destination.
 *
 *   the processes that own its partitions say    the destination is
 *   at least one, that its line is held          held
 *   ... that it fails                            failing
 *   ... that it delivers                         delivering
 *   all, that nothing was attempted              untried
 *   no process was reached, or none owns any     paused or disabled by the file, paused by an operator,
 *                                                else not known
 *
 * Times are the earliest of those that say it, and outcomes the latest. The share of attempts that
 * failed is that of all processes together, because each has its part of the partitions. Those in
 * trouble come first.
 */

import type { Pause } from "../../control/operator-actions.ts";
import { holdCause } from "../../deliver/prepare.ts";
import type { Destination } from "../../domain/destination.ts";
import {
  type AttemptCounts,
  CIRCUIT_STATES,
  type CircuitState,
  DESTINATION_STATES,
  type DestinationStateName,
  type DestinationStatus,
  type EndpointStatus,
  type HoldReason,
  type LastOutcome,
} from "../../domain/destination-status.ts";
import { endpointNames } from "../../domain/endpoint-name.ts";
import type { HaltReport } from "./rates.ts";

/** Null means: not known. Instants are ISO 8601 texts. */
export interface StateReport {
  readonly state: DestinationStateName | null;
  readonly failingSince: string | null;
  /** Of the attempts of the last minute, from 0 to 1; null: there were none. */
  readonly failedShare: number | null;
  readonly hold: {
    readonly reason: HoldReason;
    /** Null: only the file says so. */
    readonly since: string | null;
    /** When an attempt finds out; null: somebody has to end it. */
    readonly until: string | null;
    /** Of a pause: `configuration`, or who asked for it. Else absent. */
    readonly by?: string;
  } | null;
  /** Those that own partitions of it. */
  readonly processes: {
    readonly owning: number;
    readonly onHold: number;
    readonly failing: number;
  };
  readonly lastAcceptedAt: string | null;
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  readonly endpoints: readonly EndpointReport[];
}

export interface EndpointReport extends Omit<EndpointStatus, "breaker" | "lastMinute"> {
  readonly breaker: CircuitState | null;
  readonly failedShare: number | null;
}

export interface DestinationReport extends StateReport {
  readonly destination: string;
  /** Records in its line, and deliveries that are due again. */
  readonly waiting: number | null;
  /** Those of them that were attempted and are due again. */
  readonly due: number | null;
  /** Deliveries that wait in delay topics for their next attempt. */
  readonly awaitingRetry: number | null;
  readonly byDelay: Readonly<Record<string, number>> | null;
  /** Age of the oldest of `waiting`. */
  readonly oldestMs: number | null;
  readonly nextAttemptAt: string | null;
  readonly donePerMinute: number | null;
  readonly failedPerMinute: number | null;
  readonly deadLettersLastDay: number | null;
  /** The damaged batches at which it stands. */
  readonly halted: readonly HaltReport[];
  readonly note: string | null;
}

/**
 * @param reported by each process that was reached, and knows the destination.
 * @param pause the one in force that an operator asked for.
 */
export function stateOf(
  destination: Destination | null,
  reported: readonly DestinationStatus[],
  pause?: Pause,
): StateReport {
  const owners = reported.filter(({ partitions }) => partitions > 0);
  const holders = owners.flatMap(({ hold }) => hold ?? []);
  const fails = owners.flatMap(({ failingSince }) => failingSince ?? []);
  const byFile = destination?.isAttempted ? holdCause(destination) : null;
  const byOperator =
    pause !== undefined && destination?.isAttempted && owners.length === 0 ? holdOf(pause) : null;
  const hold = firstOf(holders) ?? (byFile && holdByFile(byFile)) ?? byOperator;
  const known = DESTINATION_STATES.find((name) => owners.some(({ state }) => state === name));
  return {
    state: hold === null ? (known ?? null) : "on-hold",
    failingSince: fails.toSorted()[0] ?? null,
    failedShare: failedShareOf(owners),
    hold,
    processes: { owning: owners.length, onHold: holders.length, failing: fails.length },
    lastAcceptedAt:
      reported
        .flatMap((each) => each.lastAcceptedAt ?? [])
        .toSorted()
        .at(-1) ?? null,
    last: latest(reported.flatMap(({ last }) => last ?? [])),
    endpoints: endpointsOf(destination, owners),
  };
}

function failedShareOf(all: readonly { readonly lastMinute: AttemptCounts }[]): number | null {
  let [attempts, failures] = [0, 0];
  for (const { lastMinute } of all) {
    attempts += lastMinute.attempts;
    failures += lastMinute.failures;
  }
  return attempts === 0 ? null : failures / attempts;
}

function holdByFile(because: "paused" | "disabled"): StateReport["hold"] {
  const by = because === "paused" ? { by: "configuration" } : {};
  return { reason: because, since: null, until: null, ...by };
}

function holdOf({ sinceMs, untilMs, by }: Pause): StateReport["hold"] {
  const until = untilMs === null ? null : new Date(untilMs).toISOString();
  return { reason: "paused", since: new Date(sinceMs).toISOString(), until, by };
}

type Hold = NonNullable<DestinationStatus["hold"]>;

/** The one that began first, until the first of them is over. */
function firstOf(holders: readonly Hold[]): StateReport["hold"] {
  const [first] = holders.toSorted((one, other) => (one.since < other.since ? -1 : 1));
  if (first === undefined) return null;
  const until = holders.flatMap((each) => each.until ?? []).toSorted()[0] ?? null;
  return { ...first, until: first.until === null ? null : until };
}

function latest<Last extends LastOutcome>(all: readonly Last[]): Last | null {
  return all.toSorted((one, other) => (one.at < other.at ? -1 : 1)).at(-1) ?? null;
}

/** Those of the file, then others that a process has. */
function endpointsOf(
  destination: Destination | null,
  owners: readonly DestinationStatus[],
): readonly EndpointReport[] {
  const reported = Map.groupBy(
    owners.flatMap(({ endpoints }) => endpoints),
    ({ key }) => key,
  );
  const file = destination?.isAttempted ? destination : null;
  const names = file === null ? new Map<string, string>() : endpointNames(file);
  const untold = (file?.endpoints ?? []).map(({ key, url }): EndpointReport => {
    const known = { name: names.get(key) ?? key, key, origin: new URL(url).origin };
    const none = { failingSince: null, failedShare: null, unavailableUntil: null, last: null };
    return { ...known, breaker: null, ...none };
  });
  const others = [...reported.values()]
    .flatMap(([first]) => first ?? [])
    .filter(({ key }) => !names.has(key));
  return [...untold, ...others].map(({ name, key, origin }) => {
    const all = reported.get(key) ?? [];
    const breaker = CIRCUIT_STATES.findLast((state) => all.some((one) => one.breaker === state));
    return {
      name,
      key,
      origin,
      breaker: breaker ?? null,
      failingSince: all.flatMap(({ failingSince }) => failingSince ?? []).toSorted()[0] ?? null,
      failedShare: failedShareOf(all),
      unavailableUntil:
        all
          .flatMap(({ unavailableUntil }) => unavailableUntil ?? [])
          .toSorted()
          .at(-1) ?? null,
      last: latest(all.flatMap(({ last }) => last ?? [])),
    };
  });
}

/** When the next attempt is to be expected; null: nothing waits, or nobody knows. */
export function nextAttemptAt(
  { hold }: Pick<StateReport, "hold">,
  waiting: number | null,
  nextDueAtMs: number | null,
  nowMs: number,
): string | null {
  if (hold?.reason === "paused" || hold?.reason === "disabled") return null;
  const hasLine = (waiting ?? 0) > 0;
  const lineAtMs = hold?.until === null || hold === null ? nowMs : Date.parse(hold.until);
  const times = [...(hasLine ? [lineAtMs] : []), ...(nextDueAtMs === null ? [] : [nextDueAtMs])];
  return times.length === 0 ? null : new Date(Math.max(nowMs, Math.min(...times))).toISOString();
}

/**
 * How much trouble there is, the most first.
 *
 *   0  halted at a damaged batch
 *   1  fails, or its line is held by a breaker or Retry-After
 *   2  an endpoint of it fails, while others accept
 *   3  paused
 *   4  disabled
 *   5  not known, and records wait
 *   6  none
 */
export function severityOf(report: DestinationReport): number {
  const { halted, failingSince, hold, endpoints, state, waiting } = report;
  if (halted.length > 0) return 0;
  if (hold?.reason === "paused") return 3;
  if (hold?.reason === "disabled") return 4;
  if (failingSince !== null || hold !== null) return 1;
  const isFailing = endpoints.some(({ breaker, failingSince: since }) => {
    return since !== null || breaker === "open" || breaker === "half-open";
  });
  if (isFailing) return 2;
  return state === null && (waiting ?? 0) > 0 ? 5 : 6;
}

/** Those that `--failing` shows. */
export function isFailing(report: DestinationReport): boolean {
  return severityOf(report) <= 2;
}

export function bySeverity(reports: readonly DestinationReport[]): readonly DestinationReport[] {
  const ranked = reports.map((report) => ({ report, healthProblem: severityOf(report) }));
  return ranked
    .sort((one, other) => {
      return (
        one.healthProblem - other.healthProblem ||
        (other.report.waiting ?? 0) - (one.report.waiting ?? 0) ||
        (one.report.destination < other.report.destination ? -1 : 1)
      );
    })
    .map(({ report }) => report);
}

/**
 * Combines the information from Kafka, from the configuration and from the processes, for each destination.
 *
 *   processes that own its partitions report       state of the destination
 *   at least one: on hold                          on hold
 *   at least one: failing                          failing
 *   at least one: delivering                       delivering
 *   all: nothing was attempted                     idle
 *   none was reached, or none owns a partition     paused or disabled by the configuration, paused by an operator,
 *                                                  otherwise unknown
 *
 * If processes report different times, the earliest time is shown. If they report different responses, the latest
 * response is shown. A process that has attempted nothing for a minute does not count as failing if others had all their
 * attempts accepted. The share of failed attempts is computed from the attempts of all processes, because each process
 * owns only some of the partitions. Destinations with problems come first.
 */

import type { SkipReason } from "../../base/words/reasons.ts";
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
import { endpointNames, nameOf } from "../../domain/endpoint-name.ts";
import type { Pause } from "../../router/control/operator-actions.ts";
import { holdCause } from "../../router/deliver/prepare.ts";
import type { HaltReport } from "./rates.ts";

/** Fields that are unknown are null. Times are in ISO 8601. */
export interface StateReport {
  readonly state: DestinationStateName | null;
  readonly failingSince: string | null;
  /** Share of failed attempts in the last minute, from 0 to 1; null if there was no attempt. */
  readonly failedShare: number | null;
  readonly hold: {
    readonly reason: HoldReason;
    /** Null if only the configuration file shows the hold. */
    readonly since: string | null;
    /** When the hold ends automatically, or when a probe is sent; null if an operator has to end the hold. */
    readonly until: string | null;
    /** Who paused the destination: `configuration` or the author of the action. Absent for other holds. */
    readonly by?: string;
    /** Why there is no token; absent for other holds. */
    readonly error?: string;
  } | null;
  /** The processes that own partitions of the destination. */
  readonly processes: {
    readonly owning: number;
    readonly onHold: number;
    readonly failing: number;
  };
  readonly lastAcceptedAt: string | null;
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  readonly endpoints: readonly EndpointReport[];
}

export interface EndpointReport extends Omit<EndpointStatus, "circuit" | "lastMinute"> {
  readonly circuit: CircuitState | null;
  readonly failedShare: number | null;
}

export interface DestinationReport extends StateReport {
  readonly destination: string;
  /** Records in the queue, and deliveries that are due for a retry. */
  readonly waiting: number | null;
  /** How many of `waiting` are due for a retry. */
  readonly due: number | null;
  /** Deliveries in delay topics. */
  readonly awaitingRetry: number | null;
  readonly byDelay: Readonly<Record<string, number>> | null;
  /** The age of the oldest record that `waiting` counts. */
  readonly oldestMs: number | null;
  readonly nextAttemptAt: string | null;
  readonly donePerMinute: number | null;
  readonly failedPerMinute: number | null;
  readonly deadLettersLastDay: number | null;
  /**
   * The number of calls that have been skipped for the destination since the processes started, by reason. If a reason
   * is absent, its number is 0.
   */
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>> | null;
  /** The corrupt batches at which deliveries for the destination have halted. */
  readonly halted: readonly HaltReport[];
  readonly note: string | null;
}

/**
 * @param reported the reports about the destination from the processes that were reached.
 * @param pause the current pause by an operator; null if there is none.
 */
export function stateOf(
  destination: Destination | null,
  reported: readonly DestinationStatus[],
  pause?: Pause,
): StateReport {
  const owners = reported.filter(({ partitions }) => partitions > 0);
  const holders = owners.flatMap(({ hold }) => hold ?? []);
  const judged = judgesOf(owners);
  const fails = judged.flatMap(({ failingSince }) => failingSince ?? []);
  const byFile = destination?.isAttempted ? holdCause(destination) : null;
  const byOperator =
    pause !== undefined && destination?.isAttempted && owners.length === 0 ? holdOf(pause) : null;
  const hold = firstOf(holders) ?? (byFile && holdByFile(byFile)) ?? byOperator;
  const known = DESTINATION_STATES.find((name) => judged.some(({ state }) => state === name));
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

/**
 * If everything that was attempted in the last minute was accepted, a process that attempted nothing in that time does
 * not count, because another process may have retried what failed there.
 */
function judgesOf<Each extends { readonly lastMinute: AttemptCounts }>(all: readonly Each[]) {
  return failedShareOf(all) === 0 ? all.filter(({ lastMinute }) => lastMinute.attempts > 0) : all;
}

function failedShareOf(all: readonly { readonly lastMinute: AttemptCounts }[]): number | null {
  let [attempts, failures] = [0, 0];
  for (const { lastMinute } of all) {
    attempts += lastMinute.attempts;
    failures += lastMinute.failures;
  }
  return attempts === 0 ? null : failures / attempts;
}

function holdByFile(reason: "paused" | "disabled"): StateReport["hold"] {
  const by = reason === "paused" ? { by: "configuration" } : {};
  return { reason, since: null, until: null, ...by };
}

function holdOf({ sinceMs, untilMs, by }: Pause): StateReport["hold"] {
  const until = untilMs === null ? null : new Date(untilMs).toISOString();
  return { reason: "paused", since: new Date(sinceMs).toISOString(), until, by };
}

type Hold = NonNullable<DestinationStatus["hold"]>;

/**
 * Returns the hold that started first. If that hold ends automatically, its end becomes the earliest end of all holds.
 */
function firstOf(holders: readonly Hold[]): StateReport["hold"] {
  const [first] = holders.toSorted((one, other) => (one.since < other.since ? -1 : 1));
  if (first === undefined) return null;
  const until = holders.flatMap((each) => each.until ?? []).toSorted()[0] ?? null;
  return { ...first, until: first.until === null ? null : until };
}

function latest<Last extends LastOutcome>(all: readonly Last[]): Last | null {
  return all.toSorted((one, other) => (one.at < other.at ? -1 : 1)).at(-1) ?? null;
}

/** The endpoints in the configuration, followed by endpoints of another name that a process reports. */
function endpointsOf(
  destination: Destination | null,
  owners: readonly DestinationStatus[],
): readonly EndpointReport[] {
  const reported = Map.groupBy(
    owners.flatMap(({ endpoints }) => endpoints),
    ({ name }) => name,
  );
  const file = destination?.isAttempted ? destination : { id: "", endpoints: [] };
  const names = endpointNames(file);
  const untold = file.endpoints.map(({ key, url }): EndpointReport => {
    const { id, name } = nameOf(key, names);
    const known = { name, id, origin: new URL(url).origin };
    const none = { failingSince: null, failedShare: null, unavailableUntil: null, last: null };
    return { ...known, circuit: null, ...none };
  });
  const others = [...reported.values()]
    .flatMap(([first]) => first ?? [])
    .filter(({ name }) => !untold.some((each) => each.name === name));
  return [...untold, ...others].map(({ name, id, origin }) => {
    const all = reported.get(name) ?? [];
    const circuit = CIRCUIT_STATES.findLast((state) => all.some((one) => one.circuit === state));
    return {
      name,
      id,
      origin,
      circuit: circuit ?? null,
      failingSince:
        judgesOf(all)
          .flatMap(({ failingSince }) => failingSince ?? [])
          .toSorted()[0] ?? null,
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

/** When the next attempt is expected; null if no delivery is waiting, or if the time is unknown. */
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
 * Returns the severity of a destination's problems. The lowest number is the most severe, but a paused or disabled
 * destination does not count as failing:
 *
 *   0  halted at a corrupt batch
 *   1  failing, or on hold because of an open circuit, Retry-After or a missing token
 *   2  one of its endpoints is failing, while others accept
 *   3  paused
 *   4  disabled
 *   5  unknown, and records are waiting
 *   6  no problem
 */
export function severityOf(report: DestinationReport): number {
  const { halted, failingSince, hold, endpoints, state, waiting } = report;
  if (halted.length > 0) return 0;
  if (hold?.reason === "paused") return 3;
  if (hold?.reason === "disabled") return 4;
  if (failingSince !== null || hold !== null) return 1;
  const isFailing = endpoints.some(({ circuit, failingSince: since }) => {
    return since !== null || circuit === "open" || circuit === "half-open";
  });
  if (isFailing) return 2;
  return state === null && (waiting ?? 0) > 0 ? 5 : 6;
}

/** Returns true for the destinations that `--failing` shows. */
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

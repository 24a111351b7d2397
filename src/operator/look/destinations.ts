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

import type { Destination } from "../../domain/destination.ts";
import {
  type AttemptCounts,
  type BlockedUsers,
  CIRCUIT_STATES,
  DESTINATION_STATES,
  type DestinationStatus,
  type EndpointHold,
  type LastOutcome,
} from "../../domain/destination-status.ts";
import { endpointNames, nameOf } from "../../domain/endpoint-name.ts";
import type { Pause } from "../../router/control/operator-actions.ts";
import { holdCause } from "../../router/deliver/hold-cause.ts";
import type { EndpointReport, StateReport } from "./status-report.ts";

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
  const order = blockedOf(owners.flatMap((each) => each.order ?? []));
  return {
    state: hold === null ? (known ?? null) : "on-hold",
    failingSince: fails.toSorted()[0] ?? null,
    failedShare: failedShareOf(owners),
    hold,
    ...(order === null ? {} : { order }),
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

function blockedOf(all: readonly BlockedUsers[]): BlockedUsers | null {
  if (all.length === 0) return null;
  let [blockedUsers, waitingDeliveries] = [0, 0];
  for (const each of all) {
    blockedUsers += each.blockedUsers;
    waitingDeliveries += each.waitingDeliveries;
  }
  return { blockedUsers, waitingDeliveries };
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

/** Returns the hold that ends last. One that does not end automatically counts as later than all others. */
function lastOf(holds: readonly EndpointHold[]): EndpointHold | null {
  const end = ({ until }: EndpointHold) =>
    until === null ? Number.POSITIVE_INFINITY : Date.parse(until);
  return holds.toSorted((one, other) => end(one) - end(other)).at(-1) ?? null;
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
    const none = { failingSince: null, failedShare: null, unavailable: null, last: null };
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
      unavailable: lastOf(all.flatMap(({ unavailable }) => unavailable ?? [])),
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
  if (hold?.reason === "paused" || hold?.reason === "disabled" || hold?.reason === "gone")
    return null;
  const hasLine = (waiting ?? 0) > 0;
  const lineAtMs = hold?.until === null || hold === null ? nowMs : Date.parse(hold.until);
  const times = [...(hasLine ? [lineAtMs] : []), ...(nextDueAtMs === null ? [] : [nextDueAtMs])];
  return times.length === 0 ? null : new Date(Math.max(nowMs, Math.min(...times))).toISOString();
}

/** Builds the data of each view from the latest snapshot and the rates in the history. */

import type { History } from "./history.ts";
import type {
  ConsoleSnapshot,
  DestinationRates,
  DestinationRow,
  DestinationSnapshot,
  DestinationView,
  Overview,
  RowsEvent,
  StateCounts,
} from "./view.ts";

export function overviewOf(snapshot: ConsoleSnapshot, history: History, nowMs: number): Overview {
  const { destinations, ...rest } = snapshot;
  return {
    ...rest,
    rates: history.flowRates(),
    states: statesOf(destinations),
    waiting: {
      queued: sumOf(destinations, ({ queued }) => queued),
      awaitingRetry: sumOf(snapshot.delayTopics, ({ waiting }) => waiting),
    },
    history: history.flowSeries(nowMs),
    ...topRows(destinations, history),
  };
}

/** Maximum number of rows in each list on the overview. */
const TOP_ROWS = 5;
/** Destinations with severities up to this one need attention: they are halted, failing, on hold, or partly failing. */
const SEVERITY_MAX = 2;

function topRows(all: readonly DestinationSnapshot[], history: History) {
  const rates = history.destinationRates();
  const rows = all.map((each) => rowOf(each, rates(each.id)));
  const failed = ({ failedPerMinute }: DestinationRow) => failedPerMinute ?? 0;
  const accepted = ({ acceptedPerMinute }: DestinationRow) => acceptedPerMinute ?? 0;
  const worst = rows
    .filter(({ severity }) => severity <= SEVERITY_MAX)
    .toSorted((one, other) => one.severity - other.severity || failed(other) - failed(one));
  const busiest = rows
    .filter((row) => accepted(row) > 0)
    .toSorted((one, other) => accepted(other) - accepted(one));
  return { worst: worst.slice(0, TOP_ROWS), busiest: busiest.slice(0, TOP_ROWS) };
}

function statesOf(destinations: readonly DestinationSnapshot[]): StateCounts {
  const counts = {
    failing: 0,
    "on-hold": 0,
    delivering: 0,
    idle: 0,
    quiet: 0,
    topics: 0,
    "not-owned": 0,
    unknown: 0,
  };
  for (const { state, failingSince, hold, isAttempted } of destinations) {
    if (hold?.reason === "paused" || hold?.reason === "disabled") counts.quiet += 1;
    else if (isAttempted === false) counts.topics += 1;
    else if (failingSince !== null) counts.failing += 1;
    else counts[state ?? "unknown"] += 1;
  }
  return counts;
}

/** Returns null if all values are unknown. */
function sumOf<Each>(all: readonly Each[], of: (each: Each) => number | null): number | null {
  const known = all.flatMap((each) => of(each) ?? []);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}

/**
 * Returns the rows that differ from those sent before. Pass the same map for each event of a connection.
 *
 * @param sent the rows that were sent before, by ID and as JSON. This function updates the map.
 */
export function rowsOf(
  snapshot: ConsoleSnapshot,
  history: History,
  sent: Map<string, string>,
): RowsEvent {
  const rates = history.destinationRates();
  const changed: DestinationRow[] = [];
  const ids = snapshot.destinations.map(({ id }) => id);
  for (const each of snapshot.destinations) {
    const row = rowOf(each, rates(each.id));
    const text = JSON.stringify(row);
    if (sent.get(each.id) === text) continue;
    sent.set(each.id, text);
    changed.push(row);
  }
  if (sent.size > ids.length) {
    const there = new Set(ids);
    for (const id of sent.keys()) if (!there.has(id)) sent.delete(id);
  }
  return { at: snapshot.at, kafkaError: snapshot.kafkaError, changed, ids };
}

function rowOf(snapshot: DestinationSnapshot, rates: DestinationRates): DestinationRow {
  const {
    endpoints: _,
    failedShare: _share,
    due: _due,
    byDelay: _delays,
    lastAcceptedAt: _at,
    note: _note,
    ...row
  } = snapshot;
  return { ...row, ...rates };
}

/** Returns null if the destination does not exist. */
export function destinationOf(
  snapshot: ConsoleSnapshot,
  history: History,
  id: string,
  sources: readonly string[],
  nowMs: number,
): DestinationView | null {
  const found = snapshot.destinations.find((each) => each.id === id);
  if (found === undefined) return null;
  return {
    ...found,
    ...history.destinationRates()(id),
    at: snapshot.at,
    kafkaError: snapshot.kafkaError,
    responses: history.responses(id, nowMs),
    latency: history.latency(id, nowMs),
    skipped: history.skipped(id, nowMs),
    sources,
  };
}

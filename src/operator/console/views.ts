/** Builds the data of each view from the latest poll and the rates in the history. */

import { type DestinationReport, severityOf } from "../look/status-report.ts";
import type { History } from "./history.ts";
import type { Poll } from "./ports.ts";
import type {
  ConfiguredDestination,
  DestinationRow,
  DestinationView,
  Overview,
  RowsEvent,
  StateCounts,
} from "./view.ts";

const NOT_CONFIGURED: ConfiguredDestination = {
  name: "",
  kind: "unknown",
  isAttempted: null,
  sources: [],
};

export function overviewOf(poll: Poll, history: History, nowMs: number): Overview {
  const { destinations, ...report } = poll.report;
  const rows = destinations.map(rowBy(poll, history));
  const known = destinations.flatMap(({ waiting }) => waiting ?? []);
  return {
    ...report,
    healthProblems: poll.healthProblems,
    rates: history.readFlowRates(),
    states: statesOf(rows),
    queued: known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0),
    history: history.readFlow(nowMs),
    ...topRows(rows),
  };
}

/** Maximum number of rows in each list on the overview. */
const TOP_ROWS = 5;
/** Destinations with severities up to this one need attention: they are halted, failing, on hold, or partly failing. */
const SEVERITY_MAX = 2;

function topRows(rows: readonly DestinationRow[]): Pick<Overview, "worst" | "busiest"> {
  const failed = ({ failedPerMinute }: DestinationRow) => failedPerMinute ?? 0;
  const accepted = ({ donePerMinute }: DestinationRow) => donePerMinute ?? 0;
  const worst = rows
    .filter(({ severity }) => severity <= SEVERITY_MAX)
    .toSorted((one, other) => one.severity - other.severity || failed(other) - failed(one));
  const busiest = rows
    .filter((row) => accepted(row) > 0)
    .toSorted((one, other) => accepted(other) - accepted(one));
  return { worst: worst.slice(0, TOP_ROWS), busiest: busiest.slice(0, TOP_ROWS) };
}

function statesOf(rows: readonly DestinationRow[]): StateCounts {
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
  for (const { state, failingSince, hold, isAttempted } of rows) {
    if (hold?.reason === "paused" || hold?.reason === "disabled") counts.quiet += 1;
    else if (isAttempted === false) counts.topics += 1;
    else if (failingSince !== null) counts.failing += 1;
    else counts[state ?? "unknown"] += 1;
  }
  return counts;
}

/**
 * Returns the rows that differ from those sent before. Pass the same map for each event of a connection.
 *
 * @param sent the rows that were sent before, by ID and as JSON. This function updates the map.
 */
export function rowsOf(poll: Poll, history: History, sent: Map<string, string>): RowsEvent {
  const { at, kafkaError, destinations } = poll.report;
  const changed: DestinationRow[] = [];
  const ids = destinations.map(({ destination }) => destination);
  for (const row of destinations.map(rowBy(poll, history))) {
    const text = JSON.stringify(row);
    if (sent.get(row.destination) === text) continue;
    sent.set(row.destination, text);
    changed.push(row);
  }
  if (sent.size > ids.length) {
    const there = new Set(ids);
    for (const id of sent.keys()) if (!there.has(id)) sent.delete(id);
  }
  return { at, kafkaError, changed, ids };
}

/** Returns null if the destination does not exist. */
export function destinationOf(
  poll: Poll,
  history: History,
  id: string,
  nowMs: number,
): DestinationView | null {
  const { at, kafkaError, destinations } = poll.report;
  const found = destinations.find(({ destination }) => destination === id);
  if (found === undefined) return null;
  return {
    ...rowBy(poll, history)(found),
    endpoints: found.endpoints,
    at,
    kafkaError,
    responses: history.readResponses(id, nowMs),
    latency: history.readLatency(id, nowMs),
    skipped: history.readSkipped(id, nowMs),
  };
}

/** Returns a function that turns the report of a destination into its row. */
function rowBy({ report: { at }, configured }: Poll, history: History) {
  const latencyOf = history.readRecentLatency();
  return (report: DestinationReport): DestinationRow => {
    const { endpoints: _e, halted: _h, oldestMs, processes: _p, skipped: _s, ...row } = report;
    return {
      ...row,
      ...(configured.get(row.destination) ?? NOT_CONFIGURED),
      ...latencyOf(row.destination),
      severity: severityOf(report),
      oldestAt: oldestMs === null ? null : oldestAt(at, oldestMs),
    };
  };
}

/**
 * Returns an instant, rounded to the second. Without rounding, each new measurement of the same record would result in
 * a slightly different instant.
 */
function oldestAt(at: string, oldestMs: number): string {
  return new Date(Math.round((Date.parse(at) - oldestMs) / 1_000) * 1_000).toISOString();
}

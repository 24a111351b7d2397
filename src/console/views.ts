/** Each view is told the last look, with the rates of its history. */

import type { History } from "./history.ts";
import type {
  ConsoleSnapshot,
  DestinationRates,
  DestinationRow,
  DestinationSeen,
  DestinationView,
  Overview,
  RowsEvent,
  StateCounts,
} from "./view.ts";

export function overviewOf(seen: ConsoleSnapshot, history: History, nowMs: number): Overview {
  const { destinations, ...rest } = seen;
  return {
    ...rest,
    rates: history.flowRates(),
    states: statesOf(destinations),
    waiting: {
      lines: sumOf(destinations, ({ waiting }) => waiting),
      tiers: sumOf(seen.tiers, ({ waiting }) => waiting),
    },
    history: history.flowSeries(nowMs),
  };
}

function statesOf(destinations: readonly DestinationSeen[]): StateCounts {
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
  for (const { state, failingSince, held, kind } of destinations) {
    if (held?.because === "paused" || held?.because === "disabled") counts.quiet += 1;
    else if (kind === "topic") counts.topics += 1;
    else if (failingSince !== null) counts.failing += 1;
    else counts[state ?? "unknown"] += 1;
  }
  return counts;
}

/** Null: of none is it known. */
function sumOf<Each>(all: readonly Each[], of: (each: Each) => number | null): number | null {
  const known = all.flatMap((each) => of(each) ?? []);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}

/**
 * The rows that differ from those told before. Hand in the same map for each event of a connection.
 *
 * @param told by id, as JSON; filled here.
 */
export function rowsOf(
  seen: ConsoleSnapshot,
  history: History,
  told: Map<string, string>,
): RowsEvent {
  const rates = history.destinationRates();
  const changed: DestinationRow[] = [];
  const ids = seen.destinations.map(({ id }) => id);
  for (const each of seen.destinations) {
    const row = rowOf(each, rates(each.id));
    const text = JSON.stringify(row);
    if (told.get(each.id) === text) continue;
    told.set(each.id, text);
    changed.push(row);
  }
  if (told.size > ids.length) {
    const there = new Set(ids);
    for (const id of told.keys()) if (!there.has(id)) told.delete(id);
  }
  return { at: seen.at, kafkaError: seen.kafkaError, changed, ids };
}

function rowOf(seen: DestinationSeen, rates: DestinationRates): DestinationRow {
  const {
    endpoints: _,
    failedShare: _share,
    dueAgain: _due,
    byDelay: _tier,
    lastAcceptedAt: _at,
    note: _note,
    ...row
  } = seen;
  return { ...row, ...rates };
}

/** Null: there is no such destination. */
export function destinationOf(
  seen: ConsoleSnapshot,
  history: History,
  id: string,
  sources: readonly string[],
  nowMs: number,
): DestinationView | null {
  const found = seen.destinations.find((each) => each.id === id);
  if (found === undefined) return null;
  return {
    ...found,
    ...history.destinationRates()(id),
    at: seen.at,
    kafkaError: seen.kafkaError,
    answers: history.answers(id, nowMs),
    latency: history.latency(id, nowMs),
    sources,
  };
}

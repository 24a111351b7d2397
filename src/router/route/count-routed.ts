/**
 * After a batch of calls was written, counts how many calls each destination gets and, by reason, how many it does
 * not get (docs/rules.md#order).
 *
 *   reason                     counts
 *   not-connected              all calls from the source
 *   disabled                   calls that the destination would get if it were enabled
 *   no-consent, sampled-out,   each call
 *     filtered, suppressed
 *   named-false, all-false     calls, by the names in `integrations`: destinations that a call does not name cost
 *                              nothing, regardless of their number
 */

import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { Refused } from "../stage/dead-letter-writer.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { Excluded, Routed, RoutedCall } from "./route-record.ts";
import type { Route, SourceRoutes } from "./routing.ts";

const stage = "route";

/** Counts by reason, then by destination. */
class Skips {
  readonly #counts = new Map<string, Map<DestinationId, number>>();

  add(reason: string, destination: DestinationId, number: number): void {
    const ofReason = this.#counts.get(reason) ?? new Map<DestinationId, number>();
    this.#counts.set(reason, ofReason);
    addTo(ofReason, destination, number);
  }

  count(metrics: StageDeps["metrics"]): void {
    for (const [reason, ofReason] of this.#counts) {
      for (const [destination, number] of ofReason) {
        if (number <= 0) continue;
        metrics.callsSkipped.bind({ destination, reason }).inc(number);
        if (reason === "suppressed") metrics.suppressed.bind({ stage, destination }).inc(number);
      }
    }
  }
}

export function countRouted(
  metrics: StageDeps["metrics"],
): (batch: readonly Routed[], refused: Refused) => void {
  const recordsIn = metrics.recordsIn.bind({ stage });
  return (batch, refused) => {
    recordsIn.inc(batch.length);
    // Calls are counted for the lists that they share, so the cost of a call does not depend on the number of
    // destinations.
    const sources = new Map<SourceRoutes, number>();
    const receivers = new Map<readonly Route[], number>();
    const excluding = new Map<SourceRoutes, number>();
    const copies = new Map<DestinationId, number>();
    const skips = new Skips();
    for (const routed of batch) {
      if (routed.kind === "unusable") continue;
      const { from, routes, disabled, excluded, ruled } = routed;
      addTo(sources, from, 1);
      if (routes === from.candidates.all) addTo(receivers, routes, 1);
      else for (const { destination } of routes) addTo(copies, destination, 1);
      for (const { id } of disabled) skips.add("disabled", id, 1);
      if (ruled !== null) {
        for (const { route, reason } of ruled.skipped) skips.add(reason, route.destination, 1);
      }
      if (excluded !== null) countExcluded(routed, excluded, excluding, skips);
      if (routes.length === 0 && !routed.isSuppressed)
        metrics.callsUnrouted.bind({ source: from.source.id }).inc();
    }
    for (const [{ notConnected }, number] of sources) {
      for (const { id } of notConnected) skips.add("not-connected", id, number);
    }
    for (const [{ candidates }, number] of excluding) {
      for (const { destination } of candidates.all) skips.add("all-false", destination, number);
    }
    skips.count(metrics);
    for (const [routes, number] of receivers) {
      for (const { destination } of routes) addTo(copies, destination, number);
    }
    if (refused.size > 0) leaveOut(batch, refused, copies);
    for (const [destination, number] of copies) {
      if (number > 0) metrics.callsRouted.bind({ destination }).inc(number);
    }
  };
}

/** Returns a function that counts a call if one of its times cannot be read. One call per second is logged. */
export function countUnreadTimes(deps: Pick<StageDeps, "metrics" | "log" | "clock">) {
  const lines = new LineLimit(1);
  return ({ unread, from, record: { topic, partition, offset } }: RoutedCall): void => {
    if (unread === null) return;
    const source = from.source.id;
    deps.metrics.callsTimeUnread.bind({ source }).inc();
    const omittedLines = lines.admit(deps.clock.nowMs());
    if (omittedLines === null) return;
    const error = `${unread} cannot be read as a time`;
    const fields = { stage, source, error, topic, partition, offset, omittedLines };
    deps.log.warn(fields, "call.time-unread");
  };
}

function addTo<Key>(counts: Map<Key, number>, key: Key, number: number): void {
  counts.set(key, (counts.get(key) ?? 0) + number);
}

/** Subtracts the delivery records that the brokers rejected. */
function leaveOut(
  batch: readonly Routed[],
  refused: Refused,
  copies: Map<DestinationId, number>,
): void {
  for (const routed of batch) {
    if (routed.kind === "unusable") continue;
    for (const [index, copy] of routed.records.entries()) {
      const route = routed.routes[index];
      if (route !== undefined && refused.has(copy)) addTo(copies, route.destination, -1);
    }
  }
}

/** Consent is checked before `integrations`, so a call without consent is not counted as excluded by `integrations`. */
function countExcluded(
  { from, routes, ruled }: RoutedCall,
  { byName, others }: Excluded,
  excluding: Map<SourceRoutes, number>,
  skips: Skips,
): void {
  const byRules = ruled?.skipped.map(({ route }) => route) ?? [];
  const named = byName.filter((route) => !byRules.includes(route));
  for (const { destination } of named) skips.add("named-false", destination, 1);
  if (!others) return;
  // Counts the call for all candidates. Those for which something else was decided are subtracted below.
  addTo(excluding, from, 1);
  const failed = ruled?.failed ?? [];
  for (const all of [routes, named, byRules, failed]) {
    for (const { destination } of all) skips.add("all-false", destination, -1);
  }
}

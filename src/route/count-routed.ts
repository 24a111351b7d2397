/**
 * Counts a batch of calls once it is written: for each destination those that it gets, and those that it does not get,
 * by the reason (docs/rules.md#order).
 *
 *   reason                     counted
 *   not-connected              all calls of the source
 *   disabled                   those that it would get if it were enabled
 *   no-consent, sampled-out,   one by one
 *     filtered
 *   named-false, all-false     by the names in `integrations` alone: a call costs nothing for a destination that it
 *                              does not name, whatever the number of destinations
 */

import type { Destination } from "../domain/destination.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { Refused } from "../stage/dead-letter-writer.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { flagVerdict, namedAlone } from "./integrations.ts";
import type { Candidates } from "./route.ts";
import type { Routed, RoutedCall } from "./route-record.ts";
import type { Route } from "./routing.ts";

/** By destination, then by reason. */
class Skips {
  readonly #counts = new Map<string, Map<DestinationId, number>>();

  add(reason: string, destination: DestinationId, number: number): void {
    const ofReason = this.#counts.get(reason) ?? new Map<DestinationId, number>();
    this.#counts.set(reason, ofReason);
    ofReason.set(destination, (ofReason.get(destination) ?? 0) + number);
  }

  count(metrics: StageDeps["metrics"]): void {
    for (const [reason, ofReason] of this.#counts) {
      for (const [destination, number] of ofReason) {
        if (number > 0) metrics.callsSkipped.bind({ destination, reason }).inc(number);
      }
    }
  }
}

export function countRouted(
  metrics: StageDeps["metrics"],
): (batch: readonly Routed[], refused: Refused) => void {
  const recordsIn = metrics.recordsIn.bind({ stage: "route" });
  return (batch, refused) => {
    recordsIn.inc(batch.length);
    const copies = new Map<DestinationId, number>();
    // One list for each source: a call costs nothing here, whatever the number of destinations.
    const without = new Map<readonly Destination[], number>();
    const namedOnly = new Map<Candidates<Route>, number>();
    const skips = new Skips();
    for (const routed of batch) {
      if (routed.kind === "unusable") continue;
      without.set(routed.notConnected, (without.get(routed.notConnected) ?? 0) + 1);
      for (const { id } of routed.disabled) skips.add("disabled", id, 1);
      if (routed.ruled === null) countFlags(routed, namedOnly, skips);
      else for (const each of routed.ruled.skipped) skips.add(each.reason, each.destination, 1);
      if (routed.routes.length === 0)
        metrics.callsUnrouted.bind({ source: routed.source.id }).inc();
      routed.routes.forEach(({ destination }, index) => {
        const copy = routed.records[index];
        if (copy === undefined || refused.has(copy)) return;
        copies.set(destination, (copies.get(destination) ?? 0) + 1);
      });
    }
    for (const [all, number] of without) {
      for (const { id } of all) skips.add("not-connected", id, number);
    }
    for (const [{ all }, number] of namedOnly) {
      for (const { destination } of all) skips.add("all-false", destination, number);
    }
    skips.count(metrics);
    for (const [destination, number] of copies) {
      metrics.callsRouted.bind({ destination }).inc(number);
    }
  };
}

function countFlags(
  { integrations, candidates }: RoutedCall,
  namedOnly: Map<Candidates<Route>, number>,
  skips: Skips,
): void {
  if (integrations === null || candidates === null) return;
  const isNamedOnly = namedAlone(integrations);
  if (isNamedOnly) namedOnly.set(candidates, (namedOnly.get(candidates) ?? 0) + 1);
  for (const name of Object.keys(integrations)) {
    const verdict = flagVerdict(integrations, name);
    if (verdict !== "named-true" && verdict !== "named-false") continue;
    for (const { destination } of candidates.named(name)) {
      if (verdict === "named-false") skips.add("named-false", destination, 1);
      if (isNamedOnly) skips.add("all-false", destination, -1);
    }
  }
}

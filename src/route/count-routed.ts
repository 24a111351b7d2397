/**
 * After a batch of calls was written, counts for each destination the calls that it gets and, by reason, the calls that
 * it does not get (docs/rules.md#order).
 *
 *   reason                     counts
 *   not-connected              all calls from the source
 *   disabled                   calls that the destination would get if it were enabled
 *   no-consent, sampled-out,   each call
 *     filtered
 *   named-false, all-false     calls, by the names in `integrations`: destinations that a call does not name cost
 *                              nothing, however many there are
 */

import type { Destination } from "../domain/destination.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { Refused } from "../stage/dead-letter-writer.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import type { Routed, RoutedCall } from "./route-record.ts";
import type { Route } from "./routing.ts";

/** Counts by reason, then by destination. */
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
    // One list per source, so that a call costs the same however many destinations there are.
    const without = new Map<readonly Destination[], number>();
    const namedAlone = new Map<readonly Route[], number>();
    const skips = new Skips();
    for (const routed of batch) {
      if (routed.kind === "unusable") continue;
      without.set(routed.notConnected, (without.get(routed.notConnected) ?? 0) + 1);
      for (const { id } of routed.disabled) skips.add("disabled", id, 1);
      for (const { route, reason } of routed.ruled?.skipped ?? []) {
        skips.add(reason, route.destination, 1);
      }
      countFlags(routed, namedAlone, skips);
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
    for (const [candidates, number] of namedAlone) {
      for (const { destination } of candidates) skips.add("all-false", destination, number);
    }
    skips.count(metrics);
    for (const [destination, number] of copies) {
      metrics.callsRouted.bind({ destination }).inc(number);
    }
  };
}

/** Consent is decided before `integrations`, so a call without consent is not counted as excluded by `integrations`. */
function countFlags(
  { candidates, namedAlone, namedFalse, routes, ruled }: RoutedCall,
  callsBy: Map<readonly Route[], number>,
  skips: Skips,
): void {
  if (namedFalse.length === 0 && !namedAlone) return;
  const byRules = ruled?.skipped.map(({ route }) => route) ?? [];
  const byName = namedFalse.filter((route) => !byRules.includes(route));
  for (const { destination } of byName) skips.add("named-false", destination, 1);
  if (!namedAlone) return;
  // `integrations` exclude all candidates, except those for which something else was decided, which are subtracted
  // here.
  callsBy.set(candidates, (callsBy.get(candidates) ?? 0) + 1);
  const failed = ruled?.failed ?? [];
  for (const all of [routes, byName, byRules, failed]) {
    for (const { destination } of all) skips.add("all-false", destination, -1);
  }
}

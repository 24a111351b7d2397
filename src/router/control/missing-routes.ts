/**
 * Finds destinations that are missing from this process's configuration, but are configured in another process that
 * shares calls or deletion requests with this one. Records that this process handles never reach such destinations.
 *
 *   the other process runs        a source there has a destination that   then
 *   route or deletion, like       the source has here too                 nothing
 *     this process                the source does not have here           it is missing
 *   neither                       any                                     nothing: no work is shared
 */

import type { ProcessRecord } from "./operator-actions.ts";

export interface MissingRoute {
  readonly destination: string;
  readonly sources: readonly string[];
  readonly sinceMs: number;
}

/**
 * The stages that decide to which destinations calls or deletion requests are written. Their processes share this
 * work.
 */
const ROUTING: readonly string[] = ["route", "deletion"];

/** Sorted by destination. */
export function missingRoutes(
  own: ProcessRecord,
  all: readonly ProcessRecord[],
): readonly MissingRoute[] {
  const missing = new Map<string, { readonly sources: Set<string>; sinceMs: number }>();
  for (const other of all) {
    if (other.id === own.id || !sharesWork(own, other)) continue;
    const sinceMs = Math.max(own.sinceMs, other.sinceMs);
    for (const [source, destinations] of other.routes) {
      const known = new Set(own.routes.get(source));
      for (const destination of destinations) {
        if (known.has(destination)) continue;
        const before = missing.get(destination);
        if (before === undefined) missing.set(destination, { sources: new Set([source]), sinceMs });
        else {
          before.sources.add(source);
          before.sinceMs = Math.min(before.sinceMs, sinceMs);
        }
      }
    }
  }
  return [...missing]
    .map(([destination, { sources, sinceMs }]) => {
      return { destination, sources: [...sources].toSorted(), sinceMs };
    })
    .toSorted((one, other) => (one.destination < other.destination ? -1 : 1));
}

function sharesWork(one: ProcessRecord, other: ProcessRecord): boolean {
  return ROUTING.some((stage) => one.stages.includes(stage) && other.stages.includes(stage));
}

/**
 * Compares where processes route to that share their work: calls and deletion requests are handled by
 * one of them, and those that only another one knows a destination of never reach it.
 *
 *   another process that runs     its source has a destination     then
 *   route, or deletion, as        that this one's has too          nothing
 *   this one does                 that this one's has not          it is missing, since both run so
 *   neither                       any                              nothing: the work is not shared
 */

import type { ProcessRecord } from "./operator-actions.ts";

export interface MissingRoute {
  readonly destination: string;
  readonly sources: readonly string[];
  readonly sinceMs: number;
}

/** Stages that share out calls, or deletion requests, among processes by where these go. */
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

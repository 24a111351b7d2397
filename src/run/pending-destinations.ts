/**
 * Reduces a new configuration to what can be applied now: destinations whose topics do not exist yet stay pending.
 *
 *   a destination                                     is
 *   whose topics are missing, and is new              omitted, even from the lists of sources
 *   whose topics are missing, and runs as another     kept as it is now
 *     type
 *   any other                                         as in the new configuration
 */

import type { Config } from "../config/config.ts";
import type { DestinationId } from "../domain/ids.ts";

/**
 * @param running the current configuration.
 * @param wanted the configuration to apply.
 * @param waiting IDs of the destinations in `wanted` whose topics do not exist.
 */
export function heldBack(
  running: Config,
  wanted: Config,
  waiting: ReadonlySet<DestinationId>,
): Config {
  if (waiting.size === 0) return wanted;
  const earlier = new Map(running.destinations.map((each) => [each.id, each]));
  const destinations = wanted.destinations.flatMap((each) => {
    return waiting.has(each.id) ? (earlier.get(each.id) ?? []) : each;
  });
  const there = new Set(destinations.map(({ id }) => id));
  const sources = wanted.sources.map((source) => {
    return { ...source, destinations: source.destinations.filter((id) => there.has(id)) };
  });
  return { ...wanted, destinations, sources };
}

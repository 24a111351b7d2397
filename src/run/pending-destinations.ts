/**
 * The configuration that can be taken over now: destinations whose topics are not there yet are held
 * back.
 *
 *   the destination waits for its topics, and      it is
 *   is new                                         left out, also of the lists of sources
 *   runs, of another type                          as it runs
 *
 *   the destination does not wait                  as configured
 */

import type { Config } from "../config/config.ts";
import type { DestinationId } from "../domain/ids.ts";

/**
 * @param running the configuration that runs.
 * @param wanted the one to take over.
 * @param waiting ids of destinations in it whose topics are not there.
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

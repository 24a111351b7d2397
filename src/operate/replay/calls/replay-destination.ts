/** The destination of a replay of calls. */

import type { Config } from "../../../config/config.ts";
import type { Destination } from "../../../domain/destination.ts";
import { WrongUsage } from "../../../words/wrong-usage.ts";

/** @throws WrongUsage for one that routing sends nothing to. */
export function routedTo({ destinations, sources }: Config, id: string): Destination {
  const destination = destinations.find((each) => each.id === id);
  if (destination === undefined) {
    const known = destinations.map((each) => each.id).join(", ") || "none";
    throw new WrongUsage(`the destination ${id} is not configured. Configured are: ${known}.`);
  }
  if (!destination.enabled) {
    throw new WrongUsage(
      `the destination ${id} is disabled: nothing is routed to it. Set enabled to true first.`,
    );
  }
  if (!sources.some((source) => source.destinations.includes(destination.id))) {
    throw new WrongUsage(
      `no source has the destination ${id} in its list: nothing is routed to it. Add it to sources[].destinations first.`,
    );
  }
  return destination;
}

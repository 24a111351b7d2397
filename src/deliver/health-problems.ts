/** The sentences of a destination on `/readyz`. */

import { endpointNames, endpointText } from "../domain/endpoint-name.ts";
import type { DestinationHealth } from "./destination-health.ts";
import type { DestinationWork } from "./destination-work.ts";
import type { HoldCause } from "./hold-cause.ts";

export function healthProblemsOf(
  { destination, still }: Pick<DestinationHealth, "destination" | "still">,
  ofConsumer: readonly string[],
  work: Pick<DestinationWork, "endpoints">,
): readonly string[] {
  const names = endpointNames(destination);
  const open = work
    .endpoints()
    .filter(({ breaker }) => breaker === "open" || breaker === "half-open")
    .map(({ key, breaker }) => {
      return `endpoint ${endpointText(names.get(key), key)} keeps failing, its breaker is ${breaker}`;
    });
  const paused = still === null ? [] : stillText(still);
  const all = [...ofConsumer, ...paused, ...open];
  return all.map((each) => `destination ${destination.id}: ${each}`);
}

function stillText({ by, sinceMs, untilMs }: HoldCause): readonly string[] {
  if (by === undefined) return [];
  const until = untilMs === null ? "" : `, until ${new Date(untilMs).toISOString()}`;
  return [`paused by ${by} since ${new Date(sinceMs).toISOString()}${until}`];
}

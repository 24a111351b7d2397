/** Settings that destinations of several types have. A type puts them among its own. */

import type { DestinationId } from "../domain/ids.ts";
import { flag, id, rate, textLike, wholeNumber } from "../settings/scalars.ts";
import { optional, required, setting } from "../settings/setting.ts";

export const integrationName = textLike("a name, without blanks at its ends", /^\S(?:.*\S)?$/);

export const idSetting = required(
  id<DestinationId>(),
  "Names the destination, its topic and its consumer group.",
);

/** Of each destination. */
export const commonSettings = {
  enabled: setting(flag(), true, "Whether calls are routed and delivered to it."),
  historical: setting(
    flag(),
    true,
    "Whether it takes historical data. If not, it gets the time of receipt in place of the call's own.",
  ),
  partitions: optional(
    wholeNumber(1, 10_000),
    "Partitions of its topic when that is created; left out: `kafka.partitions`.",
  ),
};

/** Of each destination that the deliver stage attempts. */
export const attemptSettings = {
  paused: setting(
    flag(),
    false,
    "Whether nothing is posted for now. Calls are still routed to it and wait in order.",
  ),
  concurrency: setting(
    wholeNumber(1, 10_000),
    64,
    "Deliveries in attempt at the same time, in each process.",
  ),
  requestsPerSecond: optional(
    rate(1_000_000),
    "Most requests a second, over all processes; left out: no limit.",
  ),
};

/** Settings that several types of destinations share. Each type adds its own settings to them. */

import type { Invalid, Place } from "../../base/settings/config-path.ts";
import {
  flag,
  id,
  listOf,
  oneOf,
  rate,
  textLike,
  wholeNumber,
} from "../../base/settings/scalars.ts";
import { optional, required, setting } from "../../base/settings/setting.ts";
import type { AttemptedDestination } from "../../domain/destination.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { rulesSettings } from "../rules/settings/rules-settings.ts";

export const integrationName = textLike(
  "a name without leading or trailing spaces",
  /^\S(?:.*\S)?$/,
);

const foreignHeader = textLike(
  "the name of a header that does not start with switchyard-",
  /^(?!switchyard-)[^\p{C}]{1,200}$/iu,
);

export const idSetting = required(
  id<DestinationId>(),
  "ID of the destination, which is part of the names of its topics and consumer group.",
);

export const commonSettings = {
  enabled: setting(
    flag(),
    true,
    "If `false`, no calls are routed to this destination, and its queue is on hold.",
  ),
  historical: setting(
    flag(),
    true,
    "If `false`, the destination gets the time of receipt instead of the call's own timestamp.",
  ),
  partitions: optional(
    wholeNumber(1, 10_000),
    "Number of partitions of the destination's new topics, instead of `kafka.partitions`.",
  ),
  passHeaders: optional(
    listOf(foreignHeader, "header names", { min: 0, max: 100 }),
    "Headers of producers' records that this destination's records get. By default, all of them, or none if a rule removes or hashes values.",
  ),
  ...rulesSettings,
};

/** Settings of destinations to which the deliver stage sends. */
export const attemptSettings = {
  paused: setting(flag(), false, "If `true`, calls wait in the destination's queue."),
  order: setting(
    oneOf("loose", "strict"),
    "loose",
    "Which deliveries wait for one that awaits retry: none (`loose`), or later ones of the same user (`strict`). " +
      "See [Strict order](guarantees.md#strict-order).",
  ),
  onDeadLetter: setting(
    oneOf("continue", "hold"),
    "continue",
    "What happens to a user's later deliveries when one becomes a dead letter: they are delivered (`continue`), or wait " +
      "until an operator replays or cancels the dead letter (`hold`). `hold` requires `order: strict`.",
  ),
  concurrency: setting(
    wholeNumber(1, 10_000),
    64,
    "Maximum number of deliveries, or of batches, in progress in each process.",
  ),
  requestsPerSecond: optional(
    rate(1_000_000),
    "Maximum number of requests per second to this destination from all processes.",
  ),
};

/** Checks that the settings about the order fit together. */
export function checkOrder(
  { order, onDeadLetter }: Pick<AttemptedDestination, "order" | "onDeadLetter">,
  place: Place,
): Invalid | null {
  if (order === "strict" || onDeadLetter === "continue") return null;
  const expected = "continue, because order is not strict";
  const hint = "set order: strict, or remove onDeadLetter";
  return place.child("onDeadLetter").fail("hold", expected, hint);
}

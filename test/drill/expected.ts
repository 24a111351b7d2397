/** What a trouble says of its destination. The rest is the same for all. */

import type { DestinationStateName } from "../../src/domain/destination-status.ts";

/** The state of a destination that no process owns partitions of. */
export const NOT_KNOWN = "not known";

export interface Expected {
  /** Whether its endpoint is left alone by its breaker. */
  readonly breaker: "closed" | "left alone";
  /** Why its line is held; null: it is not. */
  readonly held: "circuit-open" | "retry-after" | "paused" | "disabled" | null;
  /** Whether too many of its attempts fail; null: it is not known when enough of them have. */
  readonly isFailing: boolean | null;
  /** Whether `/readyz` names it. */
  readonly isNamed: boolean;
  readonly state: DestinationStateName | typeof NOT_KNOWN;
  readonly failures: Failures | null;
  /** Its topic exists. */
  readonly hasTopic: boolean;
  /** Lines of the log that warn of something else than its attempts. */
  readonly warnings: "none" | "some";
}

/** How its requests fail. */
export interface Failures {
  /** As the metric names it. */
  readonly outcome: string;
  /** What the receiver answers; null: nothing that it could count. */
  readonly status: number | null;
  /** The level of an attempt's line. */
  readonly level: "warn" | "error";
}

export const FINE: Expected = {
  breaker: "closed",
  held: null,
  isFailing: false,
  isNamed: false,
  state: "delivering",
  failures: null,
  hasTopic: true,
  warnings: "none",
};

/** The expected signals of a problem's destination. All other signals are the same for all destinations. */

import type { DestinationStateName } from "../../src/domain/destination-status.ts";

/** The state of a destination whose partitions no process owns. */
export const NOT_KNOWN = "not known";

export interface Expected {
  /** Whether the circuit of its endpoint is open. */
  readonly circuit: "closed" | "open";
  /** Why the destination is on hold; null if it is not. */
  readonly hold: "circuit-open" | "retry-after" | "paused" | "disabled" | null;
  /** Whether too many of its attempts fail; null if it is unknown when enough attempts have failed. */
  readonly isFailing: boolean | null;
  /** Whether `/readyz` names the destination. */
  readonly isNamed: boolean;
  readonly state: DestinationStateName | typeof NOT_KNOWN;
  readonly failures: Failures | null;
  /** Its topic exists. */
  readonly hasTopic: boolean;
  /** Whether there are warnings in the log that are not about its attempts. */
  readonly warnings: "none" | "some";
}

/** How its requests fail. */
export interface Failures {
  /** The label value of the metric. */
  readonly outcome: string;
  /** The status with which the receiver responds; null if it sends no response that it could count. */
  readonly status: number | null;
  /** The level of the log line of an attempt. */
  readonly level: "warn" | "error";
}

export const FINE: Expected = {
  circuit: "closed",
  hold: null,
  isFailing: false,
  isNamed: false,
  state: "delivering",
  failures: null,
  hasTopic: true,
  warnings: "none",
};

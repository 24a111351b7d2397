/**
 * The state of a destination as one process sees it. `GET /status` of the admin port and
 * `switchyard status` say it in these words. Instants are ISO 8601 texts; null: not known, or not so.
 *
 *   state        the destination
 *   on-hold      all its endpoints are left alone, or it is paused or disabled
 *   failing      at least half of the attempts in a minute failed, until less than a fifth do
 *                (`deliver/recent-attempts.ts` has all of it)
 *   delivering   it was tried, and is not failing
 *   idle         nothing was attempted since the process started, or took over its partitions
 *   not-owned    the process owns no partitions of it: those that own some know
 *
 * One that is held may be failing, too: `held` and `failingSince` both say so, and `state` is held.
 */

import type { DestinationId, EndpointKey } from "./ids.ts";

/** In the order of the numbers of the metric `switchyard_circuit_breaker_state`. From 2 on: left alone. */
export const CIRCUIT_STATES = ["closed", "recovering", "open", "half-open"] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];

/** Why nothing is taken from a destination's line. */
export const HOLD_REASONS = ["circuit-open", "retry-after", "paused", "disabled"] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

export const DESTINATION_STATES = [
  "on-hold",
  "failing",
  "delivering",
  "idle",
  "not-owned",
] as const;
export type DestinationStateName = (typeof DESTINATION_STATES)[number];

export interface LastOutcome {
  readonly at: string;
  readonly outcome: "accepted" | "retry" | "rejected";
  /** The status of the answer, or why there was none, such as `timeout`. */
  readonly cause: string;
}

/** Attempts of the last minute. */
export interface AttemptCounts {
  readonly attempts: number;
  readonly failures: number;
}

export interface EndpointStatus {
  /** As in `crm-hook[1] crm.example.com`. */
  readonly name: string;
  readonly key: EndpointKey;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly breaker: CircuitState;
  readonly failingSince: string | null;
  readonly lastMinute: AttemptCounts;
  /** When it may be asked again, while it is left alone. */
  readonly unavailableUntil: string | null;
  readonly last: LastOutcome | null;
}

export interface DestinationStatus {
  readonly id: DestinationId;
  readonly state: DestinationStateName;
  readonly failingSince: string | null;
  readonly lastMinute: AttemptCounts;
  readonly hold: {
    readonly reason: HoldReason;
    readonly since: string;
    /** When the next attempt finds out, or the pause is over; null: somebody has to end it. */
    readonly until: string | null;
    /** Of a pause: `configuration`, or who asked for it, such as `command`. Else absent. */
    readonly by?: string;
  } | null;
  readonly lastAcceptedAt: string | null;
  /** Of the endpoint that answered last. */
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  /** Partitions of its topics that the process owns. */
  readonly partitions: number;
  readonly endpoints: readonly EndpointStatus[];
}

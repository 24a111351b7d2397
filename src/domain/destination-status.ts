/**
 * The status of a destination in one process, as `GET /status` of the admin port and `switchyard status` show
 * it. Instants are ISO 8601 strings; null means unknown or not applicable.
 *
 *   state        the destination
 *   on-hold      all its endpoints are unavailable or gone, it has no token for its requests, its proxy fails, as
 *                many users are blocked as are allowed, or it is paused or disabled
 *   failing      at least half of the attempts in a minute failed, until less than a fifth do
 *                (`deliver/recent-attempts.ts` has the rule)
 *   delivering   deliveries were attempted, and it is not failing
 *   idle         no delivery was attempted since the process started or took over its partitions
 *   not-owned    has no partition in this process; the processes that own its partitions report its state
 *
 * If a destination on hold is also failing, `state` is on-hold, and both `hold` and `failingSince` are set.
 */

import type { DestinationId } from "./ids.ts";

/**
 * A state's index is its value in the metric `switchyard_circuit_breaker_state`. In the states from index 2 on, the
 * endpoint is unavailable.
 */
export const CIRCUIT_STATES = ["closed", "recovering", "open", "half-open"] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];

/** Why no deliveries are taken from a destination's queue. */
export const HOLD_REASONS = [
  "circuit-open",
  "retry-after",
  "token",
  "proxy",
  "gone",
  "order",
  "paused",
  "disabled",
] as const;
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
  /** The status of the response, or the reason why there was none, such as `timeout`. */
  readonly cause: string;
}

/** Attempts in the last minute. */
export interface AttemptCounts {
  readonly attempts: number;
  readonly failures: number;
}

export interface EndpointHold {
  readonly reason: HoldReason;
  readonly since: string;
  /** The earliest time of the next request; null if an operator has to act first. */
  readonly until: string | null;
}

export interface EndpointStatus {
  /** The endpoint's name, such as `crm-hook[1] crm.example.com`. */
  readonly name: string;
  /** The endpoint ID. */
  readonly id: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly circuit: CircuitState;
  readonly failingSince: string | null;
  readonly lastMinute: AttemptCounts;
  /** Why the endpoint gets no requests, except for probes; null if it is available. */
  readonly unavailable: EndpointHold | null;
  readonly last: LastOutcome | null;
}

/** How many users and deliveries wait, with a strict order. */
export interface BlockedUsers {
  /** Users with a delivery that awaits a retry, that waits behind one, or whose dead letter blocks them. */
  readonly blockedUsers: number;
  readonly waitingDeliveries: number;
}

export interface DestinationStatus {
  readonly id: DestinationId;
  readonly state: DestinationStateName;
  readonly failingSince: string | null;
  readonly lastMinute: AttemptCounts;
  readonly hold: {
    readonly reason: HoldReason;
    readonly since: string;
    /** The earliest time of the next attempt, or the end of the pause; null if an operator has to end the hold. */
    readonly until: string | null;
    /** For a pause, `configuration` or the author, such as `command`; absent for other holds. */
    readonly by?: string;
    /** A sentence that says why there is no token or why the proxy fails; absent for other reasons. */
    readonly error?: string;
  } | null;
  readonly lastAcceptedAt: string | null;
  /** The result from the endpoint that responded last. */
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  /** How many partitions of the destination's topics the process owns. */
  readonly partitions: number;
  /** On the process's partitions; absent if the destination is loose, and was never strict. */
  readonly order?: BlockedUsers;
  readonly endpoints: readonly EndpointStatus[];
}

/**
 * The data that the server sends to the browser: parts of the report of `status`, with what only the console knows.
 * It contains neither secrets nor payloads, except for `DeadLetterView.payload`, if the configuration allows it.
 */

import type { SkipReason } from "../../base/words/reasons.ts";
import type { DestinationReport, HealthProblem, StatusReport } from "../look/status-report.ts";

export interface Session {
  /** True if the user is signed in, or if no token is required. If false, no other data is available. */
  readonly isKnown: boolean;
  /** True if a token is required. */
  readonly hasToken: boolean;
  readonly readOnly: boolean;
  readonly version: string;
}

/** Values at evenly spaced times. A value is null if nothing was measured at that time. */
export interface Series<Name extends string = string> {
  /** The time of the first entry. */
  readonly fromMs: number;
  readonly stepMs: number;
  readonly values: Readonly<Record<Name, readonly (number | null)[]>>;
}

/**
 * How many destinations are in each state. `quiet`: paused or disabled. `topics`: topic destinations, which other
 * consumers read.
 */
export interface StateCounts {
  readonly failing: number;
  readonly "on-hold": number;
  readonly delivering: number;
  readonly idle: number;
  readonly quiet: number;
  readonly topics: number;
  /** Destinations whose partitions are owned by other processes. */
  readonly "not-owned": number;
  readonly unknown: number;
}

/** What the configuration says about a destination. */
export interface ConfiguredDestination {
  readonly name: string;
  /** The destination's type, or `unknown` if it is not configured. */
  readonly kind: string;
  /** True if the deliver stage sends the destination's deliveries; null if the destination is not configured. */
  readonly isAttempted: boolean | null;
  /** The sources that are connected to the destination. */
  readonly sources: readonly string[];
}

export const FLOW_NAMES = ["calls", "routed", "accepted", "failed", "deadLetters"] as const;
export type FlowName = (typeof FLOW_NAMES)[number];
/** Events per minute; null if none of the reached processes counts these events. */
export type FlowRates = Readonly<Record<FlowName, number | null>>;

export interface Overview extends Omit<StatusReport, "destinations"> {
  readonly healthProblems: readonly HealthProblem[];
  readonly rates: FlowRates;
  readonly states: StateCounts;
  /** Deliveries in the queues of all destinations; null if none of the numbers is known. */
  readonly queued: number | null;
  readonly history: Series<FlowName>;
  /** At most five destinations that are failing, on hold or halted. The most severe problem is first. */
  readonly worst: readonly DestinationRow[];
  /** At most five destinations, those with the most deliveries per minute. */
  readonly busiest: readonly DestinationRow[];
}

/** How long attempts of the last minute took; null if there were none. */
export interface Latency {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** A row of the table of destinations: what the report has about the destination, except for details. */
export interface DestinationRow
  extends Omit<DestinationReport, "endpoints" | "halted" | "oldestMs" | "processes" | "skipped">,
    ConfiguredDestination,
    Latency {
  /** As in `severityOf`. */
  readonly severity: number;
  /** When the oldest record that `waiting` counts was written. An age would change the row with each poll. */
  readonly oldestAt: string | null;
}

/** The rows that have changed since the last event, and the order of all rows. */
export interface RowsEvent {
  readonly at: string;
  readonly kafkaError: string | null;
  readonly changed: readonly DestinationRow[];
  readonly ids: readonly string[];
}

/** Classes of responses, followed by causes of missing responses. `tls` covers all causes with TLS. */
export const RESPONSE_CLASSES = [
  ...(["2xx", "3xx", "4xx", "429", "5xx"] as const),
  ...(["timeout", "refused", "reset", "dns", "unreachable", "address", "tls"] as const),
  ...(["protocol", "other"] as const),
] as const;
export type ResponseClass = (typeof RESPONSE_CLASSES)[number];

export interface DestinationView extends DestinationRow, Pick<DestinationReport, "endpoints"> {
  readonly at: string;
  readonly kafkaError: string | null;
  /** Requests by class of response or, if there was no response, by cause. */
  readonly responses: Series<ResponseClass>;
  /** Milliseconds. */
  readonly latency: Series<"p50" | "p99">;
  /** The number of calls that the destination did not get in each hour, by reason. */
  readonly skipped: Series<SkipReason>;
}

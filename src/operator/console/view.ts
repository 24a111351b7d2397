/**
 * The data that the server sends to the browser. Instants are ISO 8601 strings, and unknown values are null. The
 * data contains neither secrets nor payloads, except for `DeadLetterView.payload`, if the configuration allows it.
 * Instants are sent instead of ages, so that a row without other changes stays the same.
 */

import type { SkipReason } from "../../base/words/reasons.ts";
import type {
  CircuitState,
  DestinationStateName,
  HoldReason,
  LastOutcome,
} from "../../domain/destination-status.ts";

export interface Session {
  /** True if the user is signed in, or if no token is required. If false, no other data is available. */
  readonly isKnown: boolean;
  /** True if a token is required. */
  readonly hasToken: boolean;
  readonly readOnly: boolean;
  readonly version: string;
}

export interface HealthProblem {
  readonly level: "bad" | "warn";
  /** One or two sentences. */
  readonly text: string;
  /** The address of the console page about the problem; null if there is none. */
  readonly link: string | null;
}

/** Values at evenly spaced times. A value is null if nothing was measured at that time. */
export interface Series<Name extends string = string> {
  /** The time of the first entry. */
  readonly fromMs: number;
  readonly stepMs: number;
  readonly values: Readonly<Record<Name, readonly (number | null)[]>>;
}

export interface DelayTopicView {
  readonly delay: string;
  readonly waiting: number | null;
  readonly dueAt: string | null;
  readonly retired: boolean;
}

export interface StageView {
  readonly stage: string;
  readonly waiting: number | null;
  readonly oldestAt: string | null;
  readonly note: string | null;
}

export interface DeadLetterCounts {
  readonly retained: number;
  readonly lastDay: number;
  readonly byReason: Readonly<Record<string, number>> | null;
}

export interface ProcessView {
  readonly admin: string;
  /** The reason, if the process is unreachable. */
  readonly error: string | null;
  readonly version: string | null;
  readonly startedAt: string | null;
  readonly stages: readonly { readonly name: string; readonly partitions: number }[] | null;
  readonly configHash: string | null;
  readonly configAppliedAt: string | null;
  readonly configInvalidSince: string | null;
  readonly settingsToRestart: number;
  readonly destinationsWaiting: number;
  readonly unreachableBrokers: readonly string[];
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

export interface EndpointView {
  readonly name: string;
  readonly origin: string;
  readonly circuit: CircuitState | null;
  readonly failingSince: string | null;
  readonly failedShare: number | null;
  readonly unavailableUntil: string | null;
  readonly last: LastOutcome | null;
}

/** A destination without its rates. */
export interface DestinationSnapshot {
  readonly id: string;
  readonly name: string;
  /** The destination's type, or `unknown` if it is not configured. */
  readonly kind: string;
  /** True if the deliver stage sends the destination's deliveries; null if the destination is not configured. */
  readonly isAttempted: boolean | null;
  readonly state: DestinationStateName | null;
  /** The severity of the destination's problem, from 0 (halted) to 6 (no problem), as in `severityOf`. */
  readonly severity: number;
  readonly failingSince: string | null;
  /** The share of failed attempts in the last minute, from 0 to 1; null if there were no attempts. */
  readonly failedShare: number | null;
  readonly hold: {
    readonly reason: HoldReason;
    readonly since: string | null;
    readonly until: string | null;
    /** Why there is no token; absent for other holds. */
    readonly error?: string;
  } | null;
  readonly queued: number | null;
  readonly awaitingRetry: number | null;
  readonly oldestAt: string | null;
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  readonly lastAcceptedAt: string | null;
  readonly nextAttemptAt: string | null;
  readonly deadLettersLastDay: number | null;
  readonly endpoints: readonly EndpointView[];
  readonly due: number | null;
  readonly byDelay: Readonly<Record<string, number>> | null;
  readonly note: string | null;
}

/** The result of one poll. */
export interface ConsoleSnapshot {
  readonly at: string;
  /** Null if Kafka was reachable. */
  readonly kafkaError: string | null;
  /** The hash of the configuration file that this process reads. */
  readonly configHash: string;
  readonly stages: readonly StageView[];
  readonly delayTopics: readonly DelayTopicView[];
  readonly deadLetters: DeadLetterCounts | null;
  readonly processes: readonly ProcessView[];
  readonly healthProblems: readonly HealthProblem[];
  /** The destinations. Those with a problem come first. */
  readonly destinations: readonly DestinationSnapshot[];
}

/** Events per minute; null if none of the reached processes counts these events. */
export interface FlowRates {
  readonly calls: number | null;
  readonly routed: number | null;
  readonly accepted: number | null;
  readonly failed: number | null;
  readonly deadLetters: number | null;
}
export type FlowName = keyof FlowRates;
export const FLOW_NAMES: readonly FlowName[] = [
  "calls",
  "routed",
  "accepted",
  "failed",
  "deadLetters",
];

export interface Overview extends Omit<ConsoleSnapshot, "destinations"> {
  readonly rates: FlowRates;
  readonly states: StateCounts;
  readonly waiting: { readonly queued: number | null; readonly awaitingRetry: number | null };
  readonly history: Series<FlowName>;
  /** At most five destinations that are failing, on hold or halted. The most severe problem is first. */
  readonly worst: readonly DestinationRow[];
  /** At most five destinations, those with the most deliveries per minute. */
  readonly busiest: readonly DestinationRow[];
}

export interface Latency {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface DestinationRates extends Latency {
  readonly acceptedPerMinute: number | null;
  readonly failedPerMinute: number | null;
  /** The share of attempts in the last minute that were accepted, from 0 to 1; null if there were no attempts. */
  readonly share: number | null;
}

/** A row of the table of destinations. */
export interface DestinationRow
  extends DestinationRates,
    Omit<
      DestinationSnapshot,
      "endpoints" | "failedShare" | "due" | "byDelay" | "lastAcceptedAt" | "note"
    > {}

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

export interface DestinationView extends DestinationSnapshot, DestinationRates {
  readonly at: string;
  readonly kafkaError: string | null;
  /** Requests by class of response or, if there was no response, by cause. */
  readonly responses: Series<ResponseClass>;
  /** Milliseconds. */
  readonly latency: Series<"p50" | "p99">;
  /** The number of calls that the destination did not get in each hour, by reason. */
  readonly skipped: Series<SkipReason>;
  /** The sources that are connected to the destination. */
  readonly sources: readonly string[];
}

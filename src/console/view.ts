/**
 * The words between the server and the browser. Instants are ISO 8601 texts,
 * null means: not known. No secret and no payload, except `Letter.payload` where the configuration
 * allows it. Ages are told as instants, so that a row that has not changed reads the same.
 */

import type {
  CircuitState,
  DestinationStateName,
  HoldReason,
  LastOutcome,
} from "../domain/destination-status.ts";

export interface Session {
  /** Nothing else is told before. */
  readonly isKnown: boolean;
  /** Whether there is anything to log in with. */
  readonly hasToken: boolean;
  readonly readOnly: boolean;
  readonly version: string;
}

export interface Trouble {
  readonly level: "bad" | "warn";
  /** One sentence or two. */
  readonly text: string;
  /** An address of the page; null: there is none. */
  readonly link: string | null;
}

/** Events a minute, of an evenly spaced row of times; null: nobody looked. */
export interface Series<Name extends string = string> {
  /** Of the first entry. */
  readonly fromMs: number;
  readonly stepMs: number;
  readonly values: Readonly<Record<Name, readonly (number | null)[]>>;
}

export interface DelayTopicView {
  readonly tier: string;
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
  /** Why it cannot be reached. */
  readonly error: string | null;
  readonly version: string | null;
  readonly startedAt: string | null;
  readonly stages: readonly { readonly name: string; readonly partitions: number }[] | null;
  readonly configHash: string | null;
  readonly configAppliedAt: string | null;
  readonly configInvalidSince: string | null;
  readonly settingsToRestart: number;
  readonly destinationsWaiting: number;
  readonly brokersAway: readonly string[];
}

/** How many destinations are so. `quiet` ones are paused or disabled, `topics` others read. */
export interface StateCounts {
  readonly failing: number;
  readonly "on-hold": number;
  readonly delivering: number;
  readonly idle: number;
  readonly quiet: number;
  readonly topics: number;
  /** Other processes than those that were asked own their partitions. */
  readonly "not-owned": number;
  readonly unknown: number;
}

export interface EndpointView {
  readonly name: string;
  readonly origin: string;
  readonly breaker: CircuitState | null;
  readonly failingSince: string | null;
  readonly failedShare: number | null;
  readonly awayUntil: string | null;
  readonly last: LastOutcome | null;
}

/** A destination as it was seen, without its rates. */
export interface DestinationSeen {
  readonly id: string;
  readonly name: string;
  readonly kind: "webhook" | "topic" | "unknown";
  readonly state: DestinationStateName | null;
  /** The smaller, the worse: from 0, halted, to 6, none. */
  readonly trouble: number;
  readonly failingSince: string | null;
  /** Of the attempts of the last minute, from 0 to 1; null: there were none. */
  readonly failedShare: number | null;
  readonly held: {
    readonly because: HoldReason;
    readonly since: string | null;
    readonly until: string | null;
  } | null;
  readonly waiting: number | null;
  readonly inTiers: number | null;
  readonly oldestAt: string | null;
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  readonly lastAcceptedAt: string | null;
  readonly nextAttemptAt: string | null;
  readonly deadLettersLastDay: number | null;
  readonly endpoints: readonly EndpointView[];
  readonly dueAgain: number | null;
  readonly byDelay: Readonly<Record<string, number>> | null;
  readonly note: string | null;
}

/** All that is seen at one time. */
export interface ConsoleSnapshot {
  readonly at: string;
  /** Null: Kafka was asked. */
  readonly kafkaError: string | null;
  /** Of the file that this process reads. */
  readonly configHash: string;
  readonly stages: readonly StageView[];
  readonly tiers: readonly DelayTopicView[];
  readonly deadLetters: DeadLetterCounts | null;
  readonly processes: readonly ProcessView[];
  readonly troubles: readonly Trouble[];
  /** Those in trouble first. */
  readonly destinations: readonly DestinationSeen[];
}

/** Events a minute; null: no process that was reached counts them. */
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
  readonly waiting: { readonly lines: number | null; readonly tiers: number | null };
  readonly history: Series<FlowName>;
}

export interface Latency {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface DestinationRates extends Latency {
  readonly acceptedPerMinute: number | null;
  readonly failedPerMinute: number | null;
  /** Of the attempts of the last minutes, from 0 to 1. */
  readonly share: number | null;
}

/** A row of the table: what fits there. */
export interface DestinationRow
  extends DestinationRates,
    Omit<
      DestinationSeen,
      "endpoints" | "failedShare" | "dueAgain" | "byDelay" | "lastAcceptedAt" | "note"
    > {}

/** Rows that have changed since the last event, and the order of all. */
export interface RowsEvent {
  readonly at: string;
  readonly kafkaError: string | null;
  readonly changed: readonly DestinationRow[];
  readonly ids: readonly string[];
}

/** Classes of answers, then causes why there was none; `tls` stands for all of TLS. */
export const ANSWERS = [
  ...(["2xx", "3xx", "4xx", "429", "5xx"] as const),
  ...(["timeout", "refused", "reset", "dns", "unreachable", "address", "tls"] as const),
  ...(["protocol", "other"] as const),
] as const;
export type Answer = (typeof ANSWERS)[number];

export interface DestinationView extends DestinationSeen, DestinationRates {
  readonly at: string;
  readonly kafkaError: string | null;
  /** Requests by answer, or by the cause why there was none. */
  readonly answers: Series<Answer>;
  /** Milliseconds. */
  readonly latency: Series<"p50" | "p99">;
  /** Sources that are connected to it. */
  readonly sources: readonly string[];
}

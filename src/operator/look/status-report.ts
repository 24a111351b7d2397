/**
 * The report that `status --json` prints, and from which the tables of `status` and the pages of the console are drawn.
 * Fields that are unknown are null. Times are in ISO 8601. Ages, and times until something happens, are in milliseconds.
 */

import type { SkipReason } from "../../base/words/reasons.ts";
import type {
  BlockedUsers,
  CircuitState,
  DestinationStateName,
  DestinationStatus,
  EndpointStatus,
  LastOutcome,
} from "../../domain/destination-status.ts";
import type { LostRecords } from "../../domain/lost-records.ts";
import type { ProcessStatus, UnreachableBroker } from "../../domain/process-status.ts";

export interface StatusReport {
  readonly at: string;
  /**
   * The reason why Kafka could not be read. The fields below then contain nothing from Kafka. Null if Kafka could be
   * read.
   */
  readonly kafkaError: string | null;
  /** The hash of the configuration file, as 12 hex digits. */
  readonly configHash: string;
  /** The stages that all destinations share. */
  readonly stages: readonly StageReport[];
  /** The destinations. Those with problems come first. */
  readonly destinations: readonly DestinationReport[];
  readonly delayTopics: readonly DelayTopicReport[];
  readonly deadLetters: {
    readonly retained: number;
    readonly lastDay: number;
    readonly byReason: Readonly<Record<string, number>> | null;
    /** How many of the dead letters from the last 24 hours have been replayed; null if there were too many to count. */
    readonly replayed: number | null;
  } | null;
  /**
   * The reasons why deliveries awaiting retry, or dead letters, could not be counted. Null if they were counted, or
   * if there were too many to count.
   */
  readonly notes: { readonly awaitingRetry: string | null; readonly deadLetters: string | null };
  /**
   * The parts of the status that could not be read from Kafka, with the reasons. Each reason is also in the note on its
   * part.
   */
  readonly unknown: readonly string[];
  /** The topics that are currently not writable, according to the reached processes. */
  readonly unwritableTopics: readonly UnwritableTopicReport[];
  /** The suppressed users; null if none of the reached processes checks them. */
  readonly suppressions: SuppressionsReport | null;
  /** Records that were deleted before they were processed, according to the reached processes. */
  readonly recordsLost: readonly LostRecordsReport[];
  readonly processes: readonly ProcessReport[];
}

export interface SuppressionsReport {
  readonly users: number;
  /** When a user was last suppressed or lifted, as far as each process has read; null if unknown, or never. */
  readonly changedAt: string | null;
}

export interface ProcessReport {
  readonly admin: string;
  readonly error: string | null;
  readonly version: string | null;
  readonly startedAt: string | null;
  /** The stages of the process. Each stage has the partitions that it owns, by topic. Null if unknown. */
  readonly stages: ProcessStatus["stages"] | null;
  /** The Kafka brokers that the process cannot reach, and since when. */
  readonly unreachableBrokers: readonly Omit<UnreachableBroker, "error">[];
  /** The number of state stores of audiences that have failed and have not been reopened. */
  readonly stateStoresUnavailable: number;
  /** How far the process's clock is ahead of the brokers' clock; negative if it is behind, null if unknown. */
  readonly clockOffsetSeconds: number | null;
  /**
   * The number of destinations that are configured only in other processes. Calls that this process routes do not
   * reach these destinations.
   */
  readonly routesMissing: number;
  /** The hash of the configuration that the process runs, as 12 hex digits; null if unknown. */
  readonly configHash: string | null;
  /** When that configuration was applied; null if unknown. */
  readonly configAppliedAt: string | null;
  /** When the configuration file became invalid, in ISO 8601; null if it is valid. */
  readonly configInvalidSince: string | null;
  /** The number of changed settings that apply only after a restart. */
  readonly settingsToRestart: number;
  /** The number of destinations in the configuration file that are waiting for their topics. */
  readonly destinationsWaiting: number;
}

/** The position of a corrupt batch. The console's page can import it, unlike `domain/record.ts`. */
export interface HaltReport {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface StageReport {
  readonly stage: string;
  readonly lag: number | null;
  readonly oldestMs: number | null;
  readonly donePerMinute: number | null;
  readonly failedPerMinute: number | null;
  /** The corrupt batches at which the stage has halted, according to Kafka and the reached processes. */
  readonly halted: readonly HaltReport[];
  readonly note: string | null;
}

export interface DelayTopicReport {
  readonly delay: string;
  readonly waiting: number | null;
  readonly oldestMs: number | null;
  /** Negative if deliveries are overdue. */
  readonly dueInMs: number | null;
  readonly retired: boolean;
  /** The reason, if something is unknown. */
  readonly note: string | null;
}

export interface StateReport {
  readonly state: DestinationStateName | null;
  readonly failingSince: string | null;
  /** Share of failed attempts in the last minute, from 0 to 1; null if there was no attempt. */
  readonly failedShare: number | null;
  /** `since` is null if only the configuration file shows the hold. */
  readonly hold:
    | (Omit<NonNullable<DestinationStatus["hold"]>, "since"> & { readonly since: string | null })
    | null;
  /** In all processes. Absent for destinations without an order. */
  readonly order?: BlockedUsers;
  /** The processes that own partitions of the destination. */
  readonly processes: {
    readonly owning: number;
    readonly onHold: number;
    readonly failing: number;
  };
  readonly lastAcceptedAt: string | null;
  readonly last: (LastOutcome & { readonly endpoint: string }) | null;
  readonly endpoints: readonly EndpointReport[];
}

export interface EndpointReport extends Omit<EndpointStatus, "circuit" | "lastMinute"> {
  readonly circuit: CircuitState | null;
  readonly failedShare: number | null;
}

export interface DestinationReport extends StateReport {
  readonly destination: string;
  /** Records in the queue, and deliveries that are due for a retry. */
  readonly waiting: number | null;
  /** How many of `waiting` are due for a retry. */
  readonly due: number | null;
  /** Deliveries in delay topics. */
  readonly awaitingRetry: number | null;
  readonly byDelay: Readonly<Record<string, number>> | null;
  /** The age of the oldest record that `waiting` counts. */
  readonly oldestMs: number | null;
  readonly nextAttemptAt: string | null;
  readonly donePerMinute: number | null;
  readonly failedPerMinute: number | null;
  readonly deadLettersLastDay: number | null;
  /**
   * The number of calls that have been skipped for the destination since the processes started, by reason. If a reason
   * is absent, its number is 0.
   */
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>> | null;
  /** The corrupt batches at which deliveries for the destination have halted. */
  readonly halted: readonly HaltReport[];
  readonly note: string | null;
}

/** Records that were deleted before they were processed, as the processes report them for 24 h. */
export interface LostRecordsReport extends LostRecords {
  readonly stage: string;
  /** Null if the topic does not belong to a destination. */
  readonly destination: string | null;
}

/** A topic that is not writable, as the processes report it. */
export interface UnwritableTopicReport {
  readonly topic: string;
  /** In ISO 8601. If processes report different times, this is the earliest of them. */
  readonly since: string;
  /**
   * The number of deliveries that were rerouted since the processes started; null if the topic does not belong to a
   * destination.
   */
  readonly rerouted: number | null;
}

/** A problem of the whole, as `healthProblemsOf` finds it in a report. */
export interface HealthProblem {
  readonly level: "bad" | "warn";
  /** One or two sentences. */
  readonly text: string;
  /** The address of the console page about the problem; null if there is none. */
  readonly link: string | null;
  /** True if the tables of `status` already show the problem. */
  readonly isInTables: boolean;
}

/**
 * Returns the severity of a destination's problems. The lowest number is the most severe, but a paused or disabled
 * destination does not count as failing:
 *
 *   0  halted at a corrupt batch
 *   1  failing, or on hold because of its endpoints, its proxy or a missing token
 *   2  one of its endpoints is failing or gone, while others accept
 *   3  paused
 *   4  disabled
 *   5  unknown, and records are waiting
 *   6  no problem
 */
export function severityOf(report: DestinationReport): number {
  const { halted, failingSince, hold, endpoints, state, waiting } = report;
  if (halted.length > 0) return 0;
  if (hold?.reason === "paused") return 3;
  if (hold?.reason === "disabled") return 4;
  if (failingSince !== null || hold !== null) return 1;
  if (endpoints.some(isEndpointFailing)) return 2;
  return state === null && (waiting ?? 0) > 0 ? 5 : 6;
}

export function isEndpointFailing({ circuit, failingSince, unavailable }: EndpointReport): boolean {
  const isOpen = circuit === "open" || circuit === "half-open";
  return failingSince !== null || isOpen || unavailable?.reason === "gone";
}

/** Returns true for the destinations that `--failing` shows. */
export function isFailing(report: DestinationReport): boolean {
  return severityOf(report) <= 2;
}

export function bySeverity(reports: readonly DestinationReport[]): readonly DestinationReport[] {
  const ranked = reports.map((report) => ({ report, healthProblem: severityOf(report) }));
  return ranked
    .sort((one, other) => {
      return (
        one.healthProblem - other.healthProblem ||
        (other.report.waiting ?? 0) - (one.report.waiting ?? 0) ||
        (one.report.destination < other.report.destination ? -1 : 1)
      );
    })
    .map(({ report }) => report);
}

/** Combines the information from Kafka and from the processes into the object that `status --json` prints. */

import { METRICS } from "../../base/telemetry/metrics.ts";
import type { Config } from "../../config/config.ts";
import type { Destination } from "../../domain/destination.ts";
import type { ProcessStatus, UnreachableBroker } from "../../domain/process-status.ts";
import type { AwaitingRetry } from "./delay-topics.ts";
import { bySeverity, type DestinationReport, nextAttemptAt, stateOf } from "./destinations.ts";
import { type Polled, type PolledProcess, reached } from "./processes.ts";
import {
  awaitingRetryIn,
  awaitingRetryOf,
  type HaltReport,
  haltedAt,
  type LostRecordsReport,
  nextDueOf,
  oldestOf,
  rateOf,
  recordsLost,
  skippedOf,
  type UnwritableTopicReport,
  unwritableTopics,
} from "./rates.ts";
import type { DelayTopicStatus, DestinationWaiting, KafkaStatus } from "./status.ts";
import type { Waiting } from "./waiting.ts";

/** Fields that are unknown are null. Ages, and times until something happens, are in milliseconds. */
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
  /** Records that were deleted before they were processed, according to the reached processes. */
  readonly recordsLost: readonly LostRecordsReport[];
  readonly processes: readonly ProcessReport[];
}

export interface ProcessReport extends RunningConfig {
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
}

export interface RunningConfig {
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

/** Everything that was read, from which the report is created. */
export interface Found {
  readonly config: Pick<Config, "destinations">;
  readonly hash: string;
  /** Null if Kafka could not be read. */
  readonly kafka: KafkaStatus | null;
  readonly kafkaError: string | null;
  readonly polled: readonly Polled[];
  readonly nowMs: number;
}

export function statusReport(found: Found): StatusReport {
  const { kafka, kafkaError, polled, hash, nowMs } = found;
  const processes = reached(polled);
  const deadLetters = kafka?.deadLetters ?? null;
  const delays = (kafka?.delayTopics ?? []).map((delay) =>
    delayTopicReport(found, processes, delay),
  );
  const awaitingRetry = delays.reduce((sum, { waiting }) => sum + (waiting ?? 0), 0);
  return {
    at: new Date(nowMs).toISOString(),
    kafkaError,
    configHash: hash,
    stages: (kafka?.stages ?? []).map(({ stage, waiting, note }) => ({
      stage,
      lag: waiting && (stage === "delay" ? awaitingRetry : waiting.records),
      oldestMs: oldestMs(waiting, nowMs),
      ...ratesOf(processes, stage, null),
      halted: haltedAt(processes, stage, null, waiting?.corrupt ?? []),
      note,
    })),
    destinations: bySeverity(destinationsOf(found, processes)),
    delayTopics: delays,
    deadLetters: deadLetters && {
      retained: deadLetters.retained,
      lastDay: deadLetters.lastDay,
      byReason: deadLetters.counts && Object.fromEntries(deadLetters.counts.byReason),
      replayed: deadLetters.counts?.replayed ?? null,
    },
    notes: {
      awaitingRetry: kafka?.notes.awaitingRetry ?? null,
      deadLetters: kafka?.notes.deadLetters ?? null,
    },
    unknown: kafka?.errors ?? [],
    unwritableTopics: unwritableTopics(processes),
    recordsLost: recordsLost(processes),
    processes: polled.map(processReport),
  };
}

/**
 * Uses the count from Kafka if it is exact. Otherwise, the processes that run the delay stage may have an exact
 * count.
 */
function delayTopicReport(
  { kafka, nowMs }: Found,
  processes: readonly PolledProcess[],
  { delay, waiting, isRetired, note }: DelayTopicStatus,
): DelayTopicReport {
  const dueAtMs = waiting?.dueAtMs ?? null;
  const reported =
    kafka?.countedDelays.has(delay) === true ? null : awaitingRetryIn(processes, delay);
  return {
    delay,
    waiting: reported ?? waiting?.records ?? null,
    oldestMs: oldestMs(waiting, nowMs),
    dueInMs: dueAtMs === null ? null : dueAtMs - nowMs,
    retired: isRetired,
    note,
  };
}

function destinationsOf(
  { config, kafka, nowMs }: Found,
  processes: readonly PolledProcess[],
): readonly DestinationReport[] {
  const configured = new Map(config.destinations.map((each) => [each.id as string, each]));
  const reported = Map.groupBy(
    processes.flatMap(({ after }) => after.status.destinations),
    ({ id }) => id as string,
  );
  const pauses = new Map(kafka?.pauses.map((pause) => [pause.destination as string, pause]));
  const rows = kafka?.destinations ?? [...configured.keys()].map(unknown);
  return rows.map((row): DestinationReport => {
    const { destination: id, retries } = row;
    const destination = configured.get(id) ?? null;
    // If Switchyard does not attempt deliveries to the destination, consumers outside Switchyard read its topic, and
    // their position is unknown.
    const line = destination?.isAttempted === false ? null : row.line;
    const state = stateOf(destination, reported.get(id) ?? [], pauses.get(id));
    // If one of the two numbers is unknown, the sum is also unknown.
    const isPartly = row.error !== null && (line === null || retries === null);
    const waiting = line === null || isPartly ? null : line.records + (retries?.records ?? 0);
    const awaitingRetry = kafka?.awaitingRetry
      ? (kafka.awaitingRetry.get(id) ?? NONE)
      : reportedOf(processes, id);
    const { byDelay, nextDueAtMs } = awaitingRetry;
    // The destination may be disabled or paused by this file, or by the configuration of a process.
    const isAttempted = destination?.isAttempted || state.processes.owning > 0;
    const corrupt = [...(line?.corrupt ?? []), ...(retries?.corrupt ?? [])];
    return {
      destination: id,
      ...state,
      ...ratesOf(processes, "deliver", id),
      waiting,
      due: retries?.records ?? null,
      awaitingRetry: byDelay && Object.values(byDelay).reduce((sum, count) => sum + count, 0),
      byDelay,
      oldestMs: oldestMs(line, nowMs) ?? ((waiting ?? 0) > 0 ? oldestOf(processes, id) : null),
      nextAttemptAt: isAttempted ? nextAttemptAt(state, waiting, nextDueAtMs, nowMs) : null,
      deadLettersLastDay: kafka?.deadLetters?.counts
        ? (kafka.deadLetters.counts.byDestination.get(id) ?? 0)
        : null,
      skipped: skippedOf(processes, id),
      halted: haltedAt(processes, "deliver", id, corrupt),
      note: noteOf(row, destination, kafka !== null),
    };
  });
}

const NONE: AwaitingRetry = { byDelay: {}, nextDueAtMs: null };

/** The number of deliveries awaiting retry, as counted by the processes that run the delay stage. */
function reportedOf(processes: readonly PolledProcess[], id: string) {
  return { byDelay: awaitingRetryOf(processes, id), nextDueAtMs: nextDueOf(processes, id) };
}

function unknown(destination: string): DestinationWaiting {
  return { destination, topic: "", line: null, retries: null, isRemoved: false, error: null };
}

function noteOf(
  { line, topic, isRemoved, error }: DestinationWaiting,
  destination: Destination | null,
  isAsked: boolean,
): string | null {
  if (error !== null && destination?.isAttempted !== false) return error;
  if (isRemoved)
    return "not configured: its records are kept, and are delivered if a destination with this ID is configured again";
  if (destination?.isAttempted === false) {
    return `a ${destination.kind} destination: its consumers are outside Switchyard`;
  }
  if (line === null && isAsked) return `the topic ${topic} does not exist`;
  if (destination?.enabled === false) {
    return "disabled: new calls are not written to it, and its queue is on hold";
  }
  return destination?.paused === true
    ? "paused: new calls wait in its queue, which is on hold"
    : null;
}

function processReport(found: Polled): ProcessReport {
  const isReached = found.kind === "process";
  const status = isReached ? found.after.status : null;
  /** The value of a metric without labels; null if it is unknown. */
  const gauge = ({ name }: { readonly name: string }) => status?.metrics[name]?.[0]?.value ?? null;
  const invalidSinceS = gauge(METRICS.configInvalidSince) ?? 0;
  return {
    admin: found.address,
    error: isReached ? null : found.why,
    version: status?.version ?? null,
    startedAt: status?.startedAt ?? null,
    stages: status?.stages ?? null,
    unreachableBrokers: (status?.unreachableBrokers ?? []).map(({ broker, since }) => {
      return { broker, since };
    }),
    stateStoresUnavailable: gauge(METRICS.audienceStoresUnavailable) ?? 0,
    clockOffsetSeconds: gauge(METRICS.clockOffset),
    routesMissing: gauge(METRICS.routesMissing) ?? 0,
    configHash: status?.configuration.hash || null,
    configInvalidSince: invalidSinceS > 0 ? new Date(invalidSinceS * 1_000).toISOString() : null,
    settingsToRestart: gauge(METRICS.configNeedsRestart) ?? 0,
    destinationsWaiting: gauge(METRICS.configHeldBack) ?? 0,
    configAppliedAt: status?.configuration.appliedAt ?? null,
  };
}

function ratesOf(processes: readonly PolledProcess[], stage: string, destination: string | null) {
  const rate = rateOf(processes, stage, destination);
  return {
    donePerMinute: rounded(rate?.donePerMinute),
    failedPerMinute: rounded(rate?.failedPerMinute),
  };
}

function oldestMs(waiting: Waiting | null, nowMs: number): number | null {
  if (waiting === null || waiting.oldestAtMs === null) return null;
  return Math.max(0, nowMs - waiting.oldestAtMs);
}

/** Rounds a rate to one decimal place. */
function rounded(perMinute: number | undefined): number | null {
  return perMinute === undefined ? null : Math.round(perMinute * 10) / 10;
}

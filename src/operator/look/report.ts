/** Combines the information from Kafka and from the processes into the object that `status --json` prints. */

import { METRICS } from "../../base/telemetry/metrics.ts";
import type { Config } from "../../config/config.ts";
import type { Destination } from "../../domain/destination.ts";
import type { AwaitingRetry } from "./delay-topics.ts";
import { nextAttemptAt, stateOf } from "./destinations.ts";
import { type Polled, type PolledProcess, reached } from "./processes.ts";
import {
  awaitingRetryIn,
  awaitingRetryOf,
  haltedAt,
  nextDueOf,
  oldestOf,
  rateOf,
  recordsLost,
  skippedOf,
  suppressionsOf,
  unwritableTopics,
} from "./rates.ts";
import type { DelayTopicStatus, DestinationWaiting, KafkaStatus } from "./status.ts";
import {
  bySeverity,
  type DelayTopicReport,
  type DestinationReport,
  type ProcessReport,
  type StatusReport,
} from "./status-report.ts";
import type { UnprocessedRecords } from "./waiting.ts";

/** Everything that was read, from which the report is created. */
export interface StatusFacts {
  readonly config: Pick<Config, "destinations">;
  readonly hash: string;
  /** Null if Kafka could not be read. */
  readonly kafka: KafkaStatus | null;
  readonly kafkaError: string | null;
  readonly polled: readonly Polled[];
  readonly nowMs: number;
}

export function statusReport(found: StatusFacts): StatusReport {
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
    suppressions: suppressionsOf(processes),
    recordsLost: recordsLost(processes),
    processes: polled.map(processReport),
  };
}

/**
 * Uses the count from Kafka if it is exact. Otherwise, the processes that run the delay stage may have an exact
 * count.
 */
function delayTopicReport(
  { kafka, nowMs }: StatusFacts,
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
  { config, kafka, nowMs }: StatusFacts,
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

function oldestMs(waiting: UnprocessedRecords | null, nowMs: number): number | null {
  if (waiting === null || waiting.oldestAtMs === null) return null;
  return Math.max(0, nowMs - waiting.oldestAtMs);
}

/** Rounds a rate to one decimal place. */
function rounded(perMinute: number | undefined): number | null {
  return perMinute === undefined ? null : Math.round(perMinute * 10) / 10;
}

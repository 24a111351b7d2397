/** Puts together what Kafka and the processes say: the object that `status --json` prints. */

import type { Config } from "../../config/config.ts";
import type { Destination } from "../../domain/destination.ts";
import type { ProcessStatus, UnreachableBroker } from "../../domain/process-status.ts";
import { METRICS } from "../../telemetry/metrics.ts";
import type { Sample } from "../connect/metrics-text.ts";
import { hashOf } from "../connect/scrape.ts";
import type { AwaitingRetry } from "./delay-topics.ts";
import { bySeverity, type DestinationReport, nextAttemptAt, stateOf } from "./destinations.ts";
import {
  awaitingRetryIn,
  awaitingRetryOf,
  type HaltReport,
  haltedAt,
  nextDueOf,
  oldestOf,
  type Process,
  rateOf,
  type UnwritableTopicReport,
  unreachableBrokers,
  unwritableTopics,
} from "./rates.ts";
import type { Scraped } from "./scrape.ts";
import type { DelayTopicStatus, DestinationWaiting, KafkaStatus } from "./status.ts";
import type { Waiting } from "./waiting.ts";

/** Null means: not known. Ages and times to come are milliseconds. */
export interface StatusReport {
  readonly at: string;
  /** Null: it was asked. Else why it was not: nothing below is from Kafka then. */
  readonly kafkaError: string | null;
  /** Of the file, in 12 hex digits. */
  readonly configHash: string;
  /** Those that all destinations share. */
  readonly stages: readonly StageReport[];
  /** Those in trouble first. */
  readonly destinations: readonly DestinationReport[];
  readonly delayTopics: readonly DelayTopicReport[];
  readonly deadLetters: {
    readonly retained: number;
    readonly lastDay: number;
    readonly byReason: Readonly<Record<string, number>> | null;
    /** Of the last day's, those that were replayed since. Null: they were too many to count. */
    readonly replayed: number | null;
  } | null;
  /** Why something of these is not known; null: all is, or there is too much of it to be counted. */
  readonly notes: { readonly awaitingRetry: string | null; readonly deadLetters: string | null };
  /** The parts of Kafka that could not be read, and why. Each is in its place, too. */
  readonly unknown: readonly string[];
  /** Topics that take nothing now, as the processes reached see it. */
  readonly unwritableTopics: readonly UnwritableTopicReport[];
  readonly processes: readonly ProcessReport[];
}

export interface ProcessReport extends RunningConfig {
  readonly admin: string;
  readonly error: string | null;
  readonly version: string | null;
  readonly startedAt: string | null;
  /** With the partitions that it owns, by topic. Null: not known. */
  readonly stages: ProcessStatus["stages"] | null;
  /** Kafka brokers that do not answer it, and since when. */
  readonly unreachableBrokers: readonly Omit<UnreachableBroker, "error">[];
  /** State stores of audiences that failed and are not open again. */
  readonly stateStoresUnavailable: number;
  /** How far its clock is ahead of the brokers', negative: behind. Null: not known. */
  readonly clockOffsetSeconds: number | null;
  /** Destinations that miss the calls which it routes, since another process's configuration has more. */
  readonly routesMissing: number;
}

export interface RunningConfig {
  /** The configuration that it runs, in 12 hex digits; null: not known. */
  readonly configHash: string | null;
  /** Since when it runs that; null: not known. */
  readonly configAppliedAt: string | null;
  /** Since when it refuses the file on disk, as in ISO 8601; null: it does not. */
  readonly configInvalidSince: string | null;
  /** Settings of the file that count after a restart. */
  readonly settingsToRestart: number;
  /** Destinations of the file that wait for their topics. */
  readonly destinationsWaiting: number;
}

export interface StageReport {
  readonly stage: string;
  readonly lag: number | null;
  readonly oldestMs: number | null;
  readonly donePerMinute: number | null;
  readonly failedPerMinute: number | null;
  /** The damaged batches at which it stands, as Kafka and the processes that were reached know. */
  readonly halted: readonly HaltReport[];
  readonly note: string | null;
}

export interface DelayTopicReport {
  readonly delay: string;
  readonly waiting: number | null;
  readonly oldestMs: number | null;
  /** Below 0: overdue. */
  readonly dueInMs: number | null;
  readonly retired: boolean;
  /** Why something of it is not known. */
  readonly note: string | null;
}

/** All that was found. */
export interface Found {
  readonly config: Pick<Config, "destinations">;
  readonly hash: string;
  /** Null: it did not answer. */
  readonly kafka: KafkaStatus | null;
  readonly kafkaError: string | null;
  readonly scraped: readonly Scraped[];
  readonly nowMs: number;
}

export function statusReport(found: Found): StatusReport {
  const { kafka, kafkaError, scraped, hash, nowMs } = found;
  const processes = scraped.flatMap((each) => (each.kind === "process" ? each.process : []));
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
    processes: scraped.map(processReport),
  };
}

/** Where Kafka's own count is not exact, that of the processes that run delay may be. */
function delayTopicReport(
  { kafka, nowMs }: Found,
  processes: readonly Process[],
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
  { config, kafka, scraped, nowMs }: Found,
  processes: readonly Process[],
): readonly DestinationReport[] {
  const configured = new Map(config.destinations.map((each) => [each.id as string, each]));
  const reported = Map.groupBy(
    scraped.flatMap((each) => (each.kind === "process" ? (each.status?.destinations ?? []) : [])),
    ({ id }) => id as string,
  );
  const pauses = new Map(kafka?.pauses.map((pause) => [pause.destination as string, pause]));
  const rows = kafka?.destinations ?? [...configured.keys()].map(unknown);
  return rows.map((row): DestinationReport => {
    const { destination: id, retries } = row;
    const destination = configured.get(id) ?? null;
    // Other consumers read one that is not attempted, and only they know how far they are.
    const line = destination?.isAttempted === false ? null : row.line;
    const state = stateOf(destination, reported.get(id) ?? [], pauses.get(id));
    // One of two that is not known is no small number.
    const isPartly = row.error !== null && (line === null || retries === null);
    const waiting = line === null || isPartly ? null : line.records + (retries?.records ?? 0);
    const awaitingRetry = kafka?.awaitingRetry
      ? (kafka.awaitingRetry.get(id) ?? NONE)
      : reportedOf(processes, id);
    const { byDelay, nextDueAtMs } = awaitingRetry;
    // By this file, or by that of a process.
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
      halted: haltedAt(processes, "deliver", id, corrupt),
      note: noteOf(row, destination, kafka !== null),
    };
  });
}

const NONE: AwaitingRetry = { byDelay: {}, nextDueAtMs: null };

/** By the processes that run delay. */
function reportedOf(processes: readonly Process[], id: string) {
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
  if (isRemoved) return "not configured: what is left stays until the id comes back";
  if (destination?.isAttempted === false) {
    return `type ${destination.kind}: its own consumers know`;
  }
  if (line === null && isAsked) return `the topic ${topic} does not exist`;
  if (destination?.enabled === false) {
    return "disabled: new calls are not written to it, and its line is held";
  }
  return destination?.paused === true ? "paused: new calls wait in its line, which is held" : null;
}

function processReport(found: Scraped): ProcessReport {
  if (found.kind === "unreachable") {
    const { address: admin, why: error } = found;
    const unknown = { version: null, startedAt: null, stages: null, unreachableBrokers: [] };
    const config = { ...runningConfig([]), configAppliedAt: null };
    return { admin, error, ...unknown, ...config, ...health([]) };
  }
  const { address: admin, process, status } = found;
  return {
    admin,
    error: null,
    version: status?.version ?? null,
    startedAt: status?.startedAt ?? null,
    stages: status?.stages ?? null,
    unreachableBrokers: unreachableBrokers(process),
    ...health(process.after.samples),
    ...runningConfig(process.after.samples),
    configAppliedAt: status?.configuration.appliedAt ?? null,
  };
}

function health(samples: readonly Sample[]) {
  const offset = samples.find(({ name }) => name === METRICS.clockOffset.name);
  return {
    stateStoresUnavailable: gaugeOf(samples, METRICS.audienceStoresUnavailable.name),
    clockOffsetSeconds: offset?.value ?? null,
    routesMissing: gaugeOf(samples, METRICS.routesMissing.name),
  };
}

function runningConfig(samples: readonly Sample[]): Omit<RunningConfig, "configAppliedAt"> {
  const value = (metric: string) => gaugeOf(samples, metric);
  const invalidSinceS = value(METRICS.configInvalidSince.name);
  return {
    configHash: hashOf(samples),
    configInvalidSince: invalidSinceS > 0 ? new Date(invalidSinceS * 1_000).toISOString() : null,
    settingsToRestart: value(METRICS.configNeedsRestart.name),
    destinationsWaiting: value(METRICS.configHeldBack.name),
  };
}

/** Of a metric without labels. */
function gaugeOf(samples: readonly Sample[], metric: string): number {
  return samples.find(({ name }) => name === metric)?.value ?? 0;
}

function ratesOf(processes: readonly Process[], stage: string, destination: string | null) {
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

/** To a tenth. */
function rounded(perMinute: number | undefined): number | null {
  return perMinute === undefined ? null : Math.round(perMinute * 10) / 10;
}

/** Turns the report of `switchyard status` into the snapshot of the console. */

import type { Config } from "../../../config/config.ts";
import type { Destination } from "../../../domain/destination.ts";
import { instant } from "../../look/audiences.ts";
import { type DestinationReport, severityOf } from "../../look/destinations.ts";
import { healthProblemsOf } from "../../look/health-problems.ts";
import type { ProcessReport, StatusReport } from "../../look/report.ts";
import type { ConsoleSnapshot, DestinationSnapshot, ProcessView } from "../view.ts";

export function snapshotOf(
  report: StatusReport,
  { destinations }: Pick<Config, "destinations">,
): ConsoleSnapshot {
  const { at, kafkaError, configHash, stages, delayTopics, deadLetters, processes } = report;
  const nowMs = Date.parse(at);
  const configured = new Map(destinations.map((each) => [each.id as string, each]));
  return {
    at,
    kafkaError,
    configHash,
    stages: stages.map(({ stage, lag, oldestMs, note }) => {
      return { stage, waiting: lag, oldestAt: before(nowMs, oldestMs), note };
    }),
    delayTopics: delayTopics.map(({ delay, waiting, dueInMs, retired }) => {
      return { delay, waiting, dueAt: dueInMs === null ? null : instant(nowMs + dueInMs), retired };
    }),
    deadLetters,
    processes: processes.map(processView),
    healthProblems: healthProblemsOf(report).map(({ level, text, link }) => ({
      level,
      text,
      link,
    })),
    destinations: report.destinations.map((each) => {
      return destinationSnapshot(each, configured.get(each.destination) ?? null, nowMs);
    }),
  };
}

function destinationSnapshot(
  report: DestinationReport,
  configured: Destination | null,
  nowMs: number,
): DestinationSnapshot {
  return {
    id: report.destination,
    name: configured?.name ?? "",
    kind: configured?.kind ?? "unknown",
    isAttempted: configured?.isAttempted ?? null,
    state: report.state,
    severity: severityOf(report),
    failingSince: report.failingSince,
    failedShare: report.failedShare,
    hold: holdOf(report),
    queued: report.waiting,
    awaitingRetry: report.awaitingRetry,
    oldestAt: before(nowMs, report.oldestMs),
    last: report.last,
    lastAcceptedAt: report.lastAcceptedAt,
    nextAttemptAt: report.nextAttemptAt,
    deadLettersLastDay: report.deadLettersLastDay,
    endpoints: report.endpoints.map(
      ({ name: called, origin, circuit, failingSince, failedShare, unavailableUntil, last }) => {
        return { name: called, origin, circuit, failingSince, failedShare, unavailableUntil, last };
      },
    ),
    due: report.due,
    byDelay: report.byDelay,
    note: report.note,
  };
}

function holdOf({ hold }: DestinationReport): DestinationSnapshot["hold"] {
  if (hold === null) return null;
  const { reason, since, until, error } = hold;
  return { reason, since, until, ...(error === undefined ? {} : { error }) };
}

function processView(report: ProcessReport): ProcessView {
  const { admin, error, version, startedAt, configHash, configAppliedAt } = report;
  const { configInvalidSince, settingsToRestart, destinationsWaiting } = report;
  return {
    admin,
    error,
    version,
    startedAt,
    stages:
      report.stages?.map(({ name, partitions }) => ({
        name,
        partitions: Object.values(partitions).reduce((sum, owned) => sum + owned.length, 0),
      })) ?? null,
    configHash,
    configAppliedAt,
    configInvalidSince,
    settingsToRestart,
    destinationsWaiting,
    unreachableBrokers: report.unreachableBrokers.map(({ broker }) => broker),
  };
}

/**
 * Returns an instant, rounded to the second. Without rounding, each new measurement of the same record would result in
 * a slightly different instant.
 */
function before(nowMs: number, ageMs: number | null): string | null {
  return ageMs === null ? null : instant(Math.round((nowMs - ageMs) / 1_000) * 1_000);
}

/** From the report of `switchyard status` to what the page is told. */

import type { Config } from "../../config/config.ts";
import type { ConsoleSnapshot, DestinationSeen, ProcessView } from "../../console/view.ts";
import { type DestinationReport, severityOf } from "../status/destinations.ts";
import type { ProcessReport, StatusReport } from "../status/report.ts";
import { troublesOf } from "./health-problems.ts";

export function seenOf(
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
    tiers: delayTopics.map(({ delay, waiting, dueInMs, retired }) => {
      return {
        tier: delay,
        waiting,
        dueAt: dueInMs === null ? null : instant(nowMs + dueInMs),
        retired,
      };
    }),
    deadLetters,
    processes: processes.map(processView),
    troubles: troublesOf(report),
    destinations: report.destinations.map((each) => {
      const found = configured.get(each.destination);
      return destinationSeen(each, found?.name ?? "", found?.kind ?? "unknown", nowMs);
    }),
  };
}

function destinationSeen(
  report: DestinationReport,
  name: string,
  kind: DestinationSeen["kind"],
  nowMs: number,
): DestinationSeen {
  return {
    id: report.destination,
    name,
    kind,
    state: report.state,
    trouble: severityOf(report),
    failingSince: report.failingSince,
    failedShare: report.failedShare,
    held: report.hold && {
      because: report.hold.reason,
      since: report.hold.since,
      until: report.hold.until,
    },
    waiting: report.waiting,
    inTiers: report.awaitingRetry,
    oldestAt: before(nowMs, report.oldestMs),
    last: report.last,
    lastAcceptedAt: report.lastAcceptedAt,
    nextAttemptAt: report.nextAttemptAt,
    deadLettersLastDay: report.deadLettersLastDay,
    endpoints: report.endpoints.map(
      ({ name: called, origin, breaker, failingSince, failedShare, unavailableUntil, last }) => {
        return {
          name: called,
          origin,
          breaker,
          failingSince,
          failedShare,
          awayUntil: unavailableUntil,
          last,
        };
      },
    ),
    dueAgain: report.due,
    byDelay: report.byDelay,
    note: report.note,
  };
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
    brokersAway: report.unreachableBrokers.map(({ broker }) => broker),
  };
}

/** To the second: an age that is found out anew each time would be another one each time. */
function before(nowMs: number, ageMs: number | null): string | null {
  return ageMs === null ? null : instant(Math.round((nowMs - ageMs) / 1_000) * 1_000);
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}

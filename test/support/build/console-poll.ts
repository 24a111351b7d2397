/** What a poll of the console found, with the values that matter to a test. */

import type { Poll } from "../../../src/operator/console/ports.ts";
import type { ConfiguredDestination, DestinationRow } from "../../../src/operator/console/view.ts";
import type {
  DestinationReport,
  HealthProblem,
  StatusReport,
} from "../../../src/operator/look/status-report.ts";
import { destinationReport, processReport, stageReport, statusReportOf } from "./status-report.ts";

const AT = "2026-03-01T09:00:00.000Z";
const LAST = { at: AT, outcome: "accepted", cause: "200" } as const;
const CONFIGURED: ConfiguredDestination = {
  name: "Webhooks",
  kind: "webhook",
  isAttempted: true,
  sources: ["web"],
};

/** A destination to which all is delivered. */
export function deliveringReport(
  destination: string,
  over: Partial<DestinationReport> = {},
): DestinationReport {
  const name = `${destination}[1] example.com`;
  const endpoint = { name, id: "1", origin: "https://example.com", circuit: "closed" } as const;
  const fine = { failingSince: null, failedShare: 0, unavailable: null, last: LAST };
  return destinationReport({
    ...{ destination, state: "delivering", failedShare: 0, last: { ...LAST, endpoint: name } },
    ...{ lastAcceptedAt: AT, endpoints: [{ ...endpoint, ...fine }] },
    ...{ waiting: 0, due: 0, awaitingRetry: 0, byDelay: {}, deadLettersLastDay: 0 },
    ...over,
  });
}

/** The row of a destination to which all is delivered. */
export function destinationRow(
  destination: string,
  over: Partial<DestinationRow> = {},
): DestinationRow {
  const { endpoints, halted, oldestMs, processes, skipped, ...row } = deliveringReport(destination);
  const rates = { donePerMinute: 1, failedPerMinute: 0, p50Ms: 5, p99Ms: 9 };
  return { ...row, ...CONFIGURED, ...rates, severity: 6, oldestAt: null, ...over };
}

interface Over extends Partial<StatusReport> {
  readonly healthProblems?: readonly Omit<HealthProblem, "isInTables">[];
  /** What differs in the configuration of a destination, by its ID. */
  readonly configured?: Readonly<Record<string, Partial<ConfiguredDestination>>>;
}

export function pollOf(
  destinations: readonly DestinationReport[],
  { healthProblems = [], configured = {}, ...over }: Over = {},
): Poll {
  const partitions = { calls: [0, 1, 2, 3, 4, 5] };
  const delay = { waiting: 12, oldestMs: null, dueInMs: 0, retired: false, note: null };
  return {
    report: statusReportOf({
      ...{ at: AT, destinations },
      stages: [stageReport({ lag: 2, donePerMinute: 0, failedPerMinute: 0 })],
      delayTopics: [
        { delay: "10s", ...delay },
        { delay: "30s", ...delay, waiting: null, dueInMs: null, retired: true },
      ],
      deadLetters: { retained: 5, lastDay: 3, byReason: { expired: 2, rejected: 1 }, replayed: 0 },
      processes: [processReport({ admin: "host-1:9464", stages: [{ name: "route", partitions }] })],
      ...over,
    }),
    healthProblems: healthProblems.map((each) => ({ ...each, isInTables: false })),
    configured: new Map(
      destinations.map(({ destination: id }) => [id, { ...CONFIGURED, ...configured[id] }]),
    ),
    counters: new Map(),
  };
}

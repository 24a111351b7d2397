/** Parts of a status report with unknown values. A test sets the values that it needs. */

import { createMetrics, type Metrics } from "../../../src/base/telemetry/instruments.ts";
import type { MeasuredStatus } from "../../../src/domain/process-status.ts";
import type { PolledProcess } from "../../../src/operator/look/processes.ts";
import type {
  DestinationReport,
  ProcessReport,
  StageReport,
  StatusReport,
} from "../../../src/operator/look/status-report.ts";

export function destinationReport(given: Partial<DestinationReport> = {}): DestinationReport {
  return {
    destination: "crm",
    state: null,
    failingSince: null,
    failedShare: null,
    hold: null,
    processes: { owning: 0, onHold: 0, failing: 0 },
    lastAcceptedAt: null,
    last: null,
    endpoints: [],
    waiting: null,
    due: null,
    awaitingRetry: null,
    byDelay: null,
    oldestMs: null,
    nextAttemptAt: null,
    donePerMinute: null,
    failedPerMinute: null,
    deadLettersLastDay: null,
    skipped: null,
    halted: [],
    note: null,
    ...given,
  };
}

/** A report in which nothing is wrong, and almost nothing is known. */
export function statusReportOf(given: Partial<StatusReport> = {}): StatusReport {
  return {
    at: "2026-03-01T09:00:00.000Z",
    kafkaError: null,
    configHash: "0011aabbccdd",
    stages: [],
    destinations: [],
    delayTopics: [],
    deadLetters: null,
    notes: { awaitingRetry: null, deadLetters: null },
    unknown: [],
    unwritableTopics: [],
    suppressions: null,
    recordsLost: [],
    processes: [],
    ...given,
  };
}

export function stageReport(given: Partial<StageReport> = {}): StageReport {
  const unknown = { lag: null, oldestMs: null, donePerMinute: null, failedPerMinute: null };
  return { stage: "route", ...unknown, halted: [], note: null, ...given };
}

/** A process that was reached, and that runs the configuration of the file. */
export function processReport(given: Partial<ProcessReport> = {}): ProcessReport {
  return {
    admin: "a:9464",
    error: null,
    version: "1.2.3",
    startedAt: "2026-03-01T08:00:00.000Z",
    stages: [],
    unreachableBrokers: [],
    configHash: "0011aabbccdd",
    configAppliedAt: "2026-03-01T08:00:00.000Z",
    configInvalidSince: null,
    settingsToRestart: 0,
    destinationsWaiting: 0,
    stateStoresUnavailable: 0,
    clockOffsetSeconds: null,
    routesMissing: 0,
    ...given,
  };
}

/** Sets metrics of a process. */
export type Count = (metrics: Metrics) => void;

/** A process that was polled twice within half a minute, and had these metrics. */
export function polledProcess(
  before: Count,
  after: Count,
  status: Partial<MeasuredStatus> = {},
  address = "a:1",
): PolledProcess {
  const reading = (atMs: number, count: Count) => {
    const metrics = createMetrics("top");
    count(metrics);
    return { atMs, status: { ...STATUS, ...status, metrics: metrics.values() } };
  };
  return { kind: "process", address, before: reading(0, before), after: reading(30_000, after) };
}

const STATUS: Omit<MeasuredStatus, "metrics"> = {
  version: "1.2.3",
  node: "v24.0.0",
  earlier: null,
  startedAt: "2026-03-01T08:00:00.000Z",
  stages: [],
  configuration: { hash: "0011aabbccdd", appliedAt: "2026-03-01T08:00:00.000Z" },
  unreachableBrokers: [],
  destinations: [],
};

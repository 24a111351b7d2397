/** Parts of a status report with unknown values, of which a test sets those that it needs. */

import type { DestinationReport } from "../../../src/operate/look/destinations.ts";
import type { ProcessReport } from "../../../src/operate/look/report.ts";

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

/** One that was reached, and runs the file. */
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

/** A snapshot for the console, with the values that matter to a test. */

import type { ConsoleSnapshot, DestinationSnapshot } from "../../../src/operator/console/view.ts";

const AT = "2026-03-01T09:00:00.000Z";

export function destinationSnapshot(
  id: string,
  over: Partial<DestinationSnapshot> = {},
): DestinationSnapshot {
  return {
    id,
    name: "Webhooks",
    kind: "webhook",
    isAttempted: true,
    state: "delivering",
    severity: 6,
    failingSince: null,
    failedShare: 0,
    hold: null,
    queued: 0,
    awaitingRetry: 0,
    oldestAt: null,
    last: { at: AT, outcome: "accepted", cause: "200", endpoint: `${id}[1] example.com` },
    lastAcceptedAt: AT,
    nextAttemptAt: null,
    deadLettersLastDay: 0,
    endpoints: [
      {
        name: `${id}[1] example.com`,
        origin: "https://example.com",
        circuit: "closed",
        failingSince: null,
        failedShare: 0,
        unavailableUntil: null,
        last: { at: AT, outcome: "accepted", cause: "200" },
      },
    ],
    due: 0,
    byDelay: {},
    note: null,
    ...over,
  };
}

export function snapshot(
  destinations: readonly DestinationSnapshot[],
  over: Partial<ConsoleSnapshot> = {},
): ConsoleSnapshot {
  return {
    at: AT,
    kafkaError: null,
    configHash: "0123456789ab",
    stages: [{ stage: "route", waiting: 2, oldestAt: null, note: null }],
    delayTopics: [
      { delay: "10s", waiting: 12, dueAt: AT, retired: false },
      { delay: "30s", waiting: null, dueAt: null, retired: true },
    ],
    deadLetters: { retained: 5, lastDay: 3, byReason: { expired: 2, rejected: 1 } },
    processes: [
      {
        admin: "host-1:9464",
        error: null,
        version: "0.1.0",
        startedAt: AT,
        stages: [{ name: "route", partitions: 6 }],
        configHash: "0123456789ab",
        configAppliedAt: AT,
        configInvalidSince: null,
        settingsToRestart: 0,
        destinationsWaiting: 0,
        unreachableBrokers: [],
      },
    ],
    healthProblems: [],
    destinations,
    ...over,
  };
}

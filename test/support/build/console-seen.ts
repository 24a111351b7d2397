/** A look of the page, with what matters to a test. */

import type { ConsoleSnapshot, DestinationSeen } from "../../../src/console/view.ts";

const AT = "2026-03-01T09:00:00.000Z";

export function destinationSeen(id: string, over: Partial<DestinationSeen> = {}): DestinationSeen {
  return {
    id,
    name: "Webhooks",
    kind: "webhook",
    state: "delivering",
    trouble: 6,
    failingSince: null,
    failedShare: 0,
    held: null,
    waiting: 0,
    inTiers: 0,
    oldestAt: null,
    last: { at: AT, outcome: "accepted", cause: "200", endpoint: `${id}[1] example.com` },
    lastAcceptedAt: AT,
    nextAttemptAt: null,
    deadLettersLastDay: 0,
    endpoints: [
      {
        name: `${id}[1] example.com`,
        origin: "https://example.com",
        breaker: "closed",
        failingSince: null,
        failedShare: 0,
        awayUntil: null,
        last: { at: AT, outcome: "accepted", cause: "200" },
      },
    ],
    dueAgain: 0,
    byDelay: {},
    note: null,
    ...over,
  };
}

export function seen(
  destinations: readonly DestinationSeen[],
  over: Partial<ConsoleSnapshot> = {},
): ConsoleSnapshot {
  return {
    at: AT,
    kafkaError: null,
    configHash: "0123456789ab",
    stages: [{ stage: "route", waiting: 2, oldestAt: null, note: null }],
    tiers: [
      { tier: "10s", waiting: 12, dueAt: AT, retired: false },
      { tier: "30s", waiting: null, dueAt: null, retired: true },
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
        brokersAway: [],
      },
    ],
    troubles: [],
    destinations,
    ...over,
  };
}

// Sentences of the page about what is not as it should be.

import { expect, test } from "vitest";

import { troublesOf } from "../../../../src/cli/console/health-problems.ts";
import type { DestinationReport } from "../../../../src/cli/status/destinations.ts";
import type { ProcessReport, StatusReport } from "../../../../src/cli/status/report.ts";

const AT = "2026-03-01T09:00:00.000Z";
const SINCE = "2026-03-01T08:00:00.000Z";

const PROCESS: ProcessReport = {
  admin: "host-1:9464",
  error: null,
  version: "0.1.0",
  startedAt: SINCE,
  stages: [],
  unreachableBrokers: [],
  configHash: "0123456789ab",
  configAppliedAt: SINCE,
  configInvalidSince: null,
  settingsToRestart: 0,
  destinationsWaiting: 0,
  stateStoresUnavailable: 0,
  clockOffsetSeconds: 0,
  routesMissing: 0,
};

function report(over: Partial<StatusReport> = {}): StatusReport {
  const none = {
    stages: [],
    destinations: [],
    delayTopics: [],
    unwritableTopics: [],
    deadLetters: null,
  };
  const known = { at: AT, kafkaError: null, configHash: "0123456789ab", processes: [PROCESS] };
  const whole = { notes: { awaitingRetry: null, deadLetters: null }, unknown: [] };
  return { ...none, ...known, ...whole, ...over };
}

function destination(over: Partial<DestinationReport>): DestinationReport {
  const quiet = { state: "delivering", failingSince: null, failedShare: null, hold: null };
  return {
    destination: "crm",
    waiting: 0,
    halted: [],
    last: null,
    endpoints: [],
    ...quiet,
    ...over,
  } as DestinationReport;
}

const said = (over: Partial<StatusReport>) => troublesOf(report(over)).map(({ text }) => text);

test("nothing is said when nothing is in trouble", () => {
  expect(said({})).toEqual([]);
});

test("a destination that fails says since when, why, and what waits", () => {
  const last = { at: SINCE, outcome: "retry", cause: "503", endpoint: "crm[1] a.b" } as const;
  const failing = destination({ failingSince: SINCE, last, waiting: 1_204 });
  expect(troublesOf(report({ destinations: [failing] }))).toEqual([
    {
      level: "bad",
      text: "crm has been failing for 1h: it answers 503, 1,204 deliveries wait.",
      link: "/destinations/crm",
    },
  ]);
});

test.each([
  [0.664, ", 66 % of attempts in the last minute"],
  [1, ", 100 % of attempts in the last minute"],
  [0.999, ", >99 % of attempts in the last minute"],
  [0.001, ", <1 % of attempts in the last minute"],
  [null, ""],
])("it says the share of attempts that failed: %d%s", (failedShare, text) => {
  const destinations = [destination({ failingSince: SINCE, failedShare })];
  expect(said({ destinations })).toEqual([`crm has been failing for 1h${text}.`]);
});

test("of many that fail, four are named", () => {
  const destinations = Array.from({ length: 9 }, (_, at) =>
    destination({ destination: `d${at}`, failingSince: SINCE }),
  );
  const texts = said({ destinations });
  expect(texts.length).toBe(5);
  expect(texts.at(-1)).toBe("5 more fail.");
});

test.each([
  ["Kafka is away: no broker answers", { kafkaError: "no broker answers\nmore" }],
  [
    "The process host-1:9464 cannot be reached (ECONNREFUSED).",
    { processes: [{ ...PROCESS, error: "ECONNREFUSED", configHash: null }] },
  ],
  [
    "The processes run different configurations.",
    { processes: [PROCESS, { ...PROCESS, admin: "host-2:9464", configHash: "ba9876543210" }] },
  ],
  ["The processes run another configuration than the file.", { configHash: "ba9876543210" }],
  [
    "host-1:9464 refuses its configuration file and runs an earlier one.",
    { processes: [{ ...PROCESS, configInvalidSince: SINCE }] },
  ],
  [
    "host-1:9464: a state store cannot be used, and its audiences wait.",
    { processes: [{ ...PROCESS, stateStoresUnavailable: 1 }] },
  ],
  [
    "The clock of host-1:9464 is 3600 s ahead of the brokers' clock.",
    { processes: [{ ...PROCESS, clockOffsetSeconds: 3_600 }] },
  ],
  [
    "Calls that host-1:9464 routes do not reach 1 destination that another process has.",
    { processes: [{ ...PROCESS, routesMissing: 1 }] },
  ],
  [
    "host-1:9464: 1 setting count after a restart.",
    { processes: [{ ...PROCESS, settingsToRestart: 1 }] },
  ],
  [
    "Deliveries in the tier 10s are overdue by 20s.",
    {
      delayTopics: [
        { delay: "10s", waiting: 1, oldestMs: 30_000, dueInMs: -20_000, retired: false },
      ],
    },
  ],
])("%s", (text, over) => {
  expect(said(over as Partial<StatusReport>)).toEqual([text]);
});

test("without processes, it is said what is not known and how to know it", () => {
  expect(said({ processes: [] })[0]).toContain("name admin ports with --admin");
});

test("the bad ones come first", () => {
  const away = { ...PROCESS, unreachableBrokers: [{ broker: "kafka-1:9092", since: SINCE }] };
  const failing = destination({ failingSince: SINCE });
  const levels = troublesOf(report({ processes: [away], destinations: [failing] }));
  expect(levels.map(({ level }) => level)).toEqual(["bad", "warn"]);
});

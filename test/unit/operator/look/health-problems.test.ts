// The sentences for health problems.

import { expect, test } from "vitest";
import { stateText } from "../../../../src/operator/look/destination-text.ts";
import { healthProblemsOf } from "../../../../src/operator/look/health-problems.ts";
import type {
  DestinationReport,
  ProcessReport,
  StatusReport,
} from "../../../../src/operator/look/status-report.ts";

import {
  destinationReport,
  processReport,
  statusReportOf,
} from "../../../support/build/status-report.ts";

const AT = "2026-03-01T09:00:00.000Z";
const SINCE = "2026-03-01T08:00:00.000Z";

const HASH = { configHash: "0123456789ab" };
const PROCESS = processReport({ admin: "host-1:9464", clockOffsetSeconds: 0, ...HASH });

function report(over: Partial<StatusReport> = {}): StatusReport {
  return statusReportOf({ at: AT, ...HASH, processes: [PROCESS], ...over });
}

function destination(over: Partial<DestinationReport>): DestinationReport {
  return destinationReport({ state: "delivering", waiting: 0, ...over });
}

const textsOf = (over: Partial<StatusReport>) =>
  healthProblemsOf(report(over)).map(({ text }) => text);

test("there are no problems when nothing is wrong", () => {
  expect(textsOf({})).toEqual([]);
});

test("a failing destination has its time, its last response and its backlog", () => {
  const last = { at: SINCE, outcome: "retry", cause: "503", endpoint: "crm[1] a.b" } as const;
  const failing = destination({ failingSince: SINCE, last, waiting: 1_204 });
  expect(healthProblemsOf(report({ destinations: [failing] }))).toEqual([
    {
      level: "bad",
      text: "crm has been failing for 1h. Last response: 503. 1,204 deliveries are queued.",
      link: "/destinations/crm",
      isInTables: true,
    },
  ]);
});

test.each([
  ["No token from https://id.test: status 401", "No token from https://id.test: status 401."],
  [undefined, "It is on hold: no token."],
])("a destination without a token has the reason: %j", (error, text) => {
  const hold = { reason: "token", since: SINCE, until: null, ...(error && { error }) } as const;
  const destinations = [destination({ state: "on-hold", hold })];
  expect(textsOf({ destinations })).toEqual([`crm has been on hold for 1h. ${text}`]);
  const state = { ...destination({ hold }), processes: { owning: 1, onHold: 1, failing: 0 } };
  expect(stateText(state, Date.parse(AT))).toMatch(
    error === undefined ? /: no token$/ : /: no token from https:\/\/id\.test: status 401$/,
  );
});

test("endpoints that are gone are reported, also if others accept", () => {
  const gone = { reason: "gone", since: SINCE, until: null } as const;
  expect(textsOf({ destinations: [destination({ state: "on-hold", hold: gone })] })).toEqual([
    "crm has been on hold for 1h. It is on hold: 410 Gone.",
  ]);
  const last = { at: SINCE, outcome: "accepted", cause: "200" } as const;
  const names = { name: "crm[1] a.b", id: "1", origin: "https://a.b", circuit: "closed" } as const;
  const endpoint = { ...names, failingSince: null, failedShare: 0, unavailable: null, last };
  const endpoints = [endpoint, { ...endpoint, unavailable: gone }];
  expect(textsOf({ destinations: [destination({ endpoints })] })).toEqual([
    "An endpoint of crm is gone (410), but other endpoints accept deliveries.",
  ]);
  expect(textsOf({ destinations: [destination({ endpoints: [endpoint] })] })).toEqual([]);
});

test.each([
  [0.664, " (66 % of attempts in the last minute)"],
  [1, " (100 % of attempts in the last minute)"],
  [0.999, " (>99 % of attempts in the last minute)"],
  [0.001, " (<1 % of attempts in the last minute)"],
  [null, ""],
])("it has the share of attempts that failed: %d%s", (failedShare, text) => {
  const destinations = [destination({ failingSince: SINCE, failedShare })];
  expect(textsOf({ destinations })).toEqual([`crm has been failing for 1h${text}.`]);
});

test("of many failing destinations, four are named", () => {
  const destinations = Array.from({ length: 9 }, (_, at) =>
    destination({ destination: `d${at}`, failingSince: SINCE }),
  );
  const texts = textsOf({ destinations });
  expect(texts.length).toBe(5);
  expect(texts.at(-1)).toBe("5 more destinations are failing.");
});

const LOST = { stage: "deliver", destination: "ads", topic: "deliveries.ads", records: 54 };
const OVERDUE = { delay: "10s", waiting: 1, oldestMs: 30_000, dueInMs: -20_000, retired: false };
const running = (over: Partial<ProcessReport>) => ({ processes: [{ ...PROCESS, ...over }] });

test.each([
  ["Kafka is unreachable: no broker responds", { kafkaError: "no broker responds\nmore" }],
  [
    "host-1:9464 is unreachable (ECONNREFUSED): its states and rates are missing.",
    running({ error: "ECONNREFUSED", configHash: null }),
  ],
  [
    "The configuration file on host-1:9464 has been invalid since 2026-03-01 08:00:00 UTC. The process still runs the previous configuration. See /readyz for the first problem.",
    running({ configInvalidSince: SINCE }),
  ],
  [
    "host-1:9464: 1 state store of the audience stage cannot be used, so some audiences are not processed. See /readyz for the error.",
    running({ stateStoresUnavailable: 1 }),
  ],
  [
    "The clock of host-1:9464 is 3600 s ahead of the brokers' clock: docs/troubleshooting.md#clocks",
    running({ clockOffsetSeconds: 3_600 }),
  ],
  [
    "host-1:9464 does not route calls to 1 destination to which another process routes calls. See /readyz for the names.",
    running({ routesMissing: 1 }),
  ],
  [
    "At most 54 records of deliveries.ads were deleted before they were processed. To send the calls again, run `switchyard replay ads --since <time>`.",
    { recordsLost: [LOST] },
  ],
  ["host-1:9464: 1 setting is waiting for a restart.", running({ settingsToRestart: 1 })],
  ["Deliveries in the 10s delay topic are overdue by 20s.", { delayTopics: [OVERDUE] }],
])("%s", (text, over) => {
  expect(textsOf(over as Partial<StatusReport>)).toEqual([text]);
});

test("processes that run other configurations than the file are named, at most four", () => {
  const page = "docs/change-configuration.md#different-hashes";
  const other = (at: number) => ({ ...PROCESS, admin: `h${at}:1`, configHash: "ba9876543210" });
  const all = Array.from({ length: 6 }, (_, at) => other(at));
  const texts = textsOf({ processes: [PROCESS, ...all] });
  expect(texts.slice(0, 2)).toEqual([
    `The processes run different configurations: ${page}`,
    `h0:1 runs configuration ba9876543210, but the file is 0123456789ab: ${page}`,
  ]);
  expect(texts.length).toBe(6);
  expect(texts.at(-1)).toBe(
    `2 more processes run a configuration that differs from the file: ${page}`,
  );
});

test("without processes, it is clear what is unknown and what to do", () => {
  expect(textsOf({ processes: [] })[0]).toContain(
    "with --admin HOST:PORT, or in console.adminAddresses",
  );
});

test("bad problems come first", () => {
  const unreachable = {
    ...PROCESS,
    unreachableBrokers: [{ broker: "kafka-1:9092", since: SINCE }],
  };
  const failing = destination({ failingSince: SINCE });
  const levels = healthProblemsOf(report({ processes: [unreachable], destinations: [failing] }));
  expect(levels.map(({ level }) => level)).toEqual(["bad", "warn"]);
});

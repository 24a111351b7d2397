// `switchyard status` on a Kafka in memory: what it finds, and the tables.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { showStatus } from "../../../../src/cli/status/command.ts";
import { type StatusReport, statusReport } from "../../../../src/cli/status/report.ts";
import { type KafkaStatus, kafkaStatus } from "../../../../src/cli/status/status.ts";
import { statusText } from "../../../../src/cli/status/text.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { STAGE_NAMES, STAGES } from "../../../../src/domain/stages.ts";
import { config } from "../../../support/build/config-source.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster, type MemoryKafka } from "../../../support/memory-kafka/memory-kafka.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";
import { letterRecord } from "../../../support/worlds/replay-world.ts";

const CONFIG = config(`
kafka: { brokers: [a:1], topicPrefix: sw. }
destinations:
  - { id: crm, type: webhook, name: A, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: late, type: webhook, name: B, enabled: false, endpoints: [{ url: "https://b.example.com/" }] }
  - { id: warehouse, type: topic, name: C }
delivery: { delays: [10s, 30s, 30s] }
`);
const never = new AbortController().signal;
const nothing = { key: null, headers: [] };

function world(...names: readonly string[]) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(5) });
  for (const name of names) cluster.createTopic(`sw.${name}`, 2);
  const kafka: MemoryKafka = cluster.connect();
  const finish = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let isSettled = false;
    const note = () => {
      isSettled = true;
    };
    promise.then(note, note);
    while (!isSettled) await clock.advanceToNext();
    return promise;
  };
  const append = (topic: string, partition = 0, headers: Record<string, string> = {}) =>
    cluster.append({
      ...nothing,
      topic: `sw.${topic}`,
      partition,
      value: Buffer.from("{}"),
      headers: Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)] as const),
    });
  const status = () =>
    finish(kafkaStatus({ kafka, config: CONFIG, nowMs: clock.nowMs(), signal: never }));
  return { clock, cluster, kafka, finish, append, status };
}

const ALL = [
  "calls",
  "deliveries.crm",
  "deliveries.late",
  "deliveries.warehouse",
  "delays.10s",
  "delays.30s",
  "dead-letters",
  "deletion-requests",
  "audience-syncs",
];

test("every stage that reads with a consumer group has a row", async () => {
  const reading = STAGE_NAMES.filter((name) => STAGES[name].input !== null);
  const { stages } = await world(...ALL).status();
  const shown = new Set(stages.map(({ stage }) => stage));
  expect(reading.length).toBeGreaterThan(0);
  expect(reading.filter((name) => !shown.has(name))).toEqual([]);
});

test("lag counts what is not committed, and the oldest is the first of it", async () => {
  const { clock, kafka, append, finish, status } = world(...ALL);
  const startMs = clock.nowMs();
  for (let second = 0; second < 4; second += 1) {
    append("deliveries.crm", 0);
    append("deliveries.crm", 1);
    append("calls", 1);
    await clock.advance(1_000);
  }
  await finish(
    kafka.admin.commit("sw.deliver.crm", "sw.deliveries.crm", [
      { partition: 0, offset: 3, metadata: "" },
      { partition: 1, offset: 2, metadata: "" },
    ]),
  );
  const { stages } = await status();
  expect(stages).toMatchObject([
    // Nobody has committed anything: all of it waits.
    { stage: "route", waiting: { records: 4, oldestAtMs: startMs } },
    { stage: "audience", waiting: { records: 0 } },
    { stage: "deletion", waiting: { records: 0 } },
    { stage: "deliver", destination: "crm", waiting: { records: 3, oldestAtMs: startMs + 2_000 } },
    { stage: "deliver", destination: "late", waiting: { records: 0, oldestAtMs: null } },
    { stage: "-", destination: "warehouse", waiting: null },
    { stage: "delay", waiting: { records: 0 } },
  ]);
});

test("tiers: what waits, when the next is due, and those that are retired", async () => {
  const { append, clock, finish, kafka, status } = world(...ALL, "delays.2m", "delays.strange");
  const startMs = clock.nowMs();
  append("delays.10s", 0, { "switchyard-due-at": `${startMs + 10_000}` });
  append("delays.10s", 0, { "switchyard-due-at": `${startMs + 11_000}` });
  append("delays.10s", 1, { "switchyard-due-at": `${startMs + 9_000}` });
  append("delays.2m", 0, { "switchyard-due-at": `${startMs + 120_000}` });
  append("delays.30s", 0);
  await finish(
    kafka.admin.commit("sw.delay.10s", "sw.delays.10s", [
      { partition: 1, offset: 1, metadata: "" },
    ]),
  );
  const { tiers, stages } = await status();
  expect(tiers).toMatchObject([
    { tier: "10s", isRetired: false, waiting: { records: 2, dueAtMs: startMs + 10_000 } },
    { tier: "30s", isRetired: false, waiting: { records: 1, dueAtMs: null } },
    { tier: "2m", isRetired: true, waiting: { records: 1, dueAtMs: startMs + 120_000 } },
  ]);
  expect(stages.at(-1)).toMatchObject({
    stage: "delay",
    waiting: { records: 4, oldestAtMs: startMs, dueAtMs: startMs + 10_000 },
  });
});

test("retries that are due count with their line, and a line that is held says why", async () => {
  const { append, status } = world(...ALL, "returns.crm", "returns.late");
  append("deliveries.crm");
  append("returns.crm");
  append("returns.crm");
  append("returns.late");
  const { stages } = await status();
  expect(stages.filter(({ stage }) => stage === "deliver")).toMatchObject([
    {
      destination: "crm",
      waiting: { records: 3 },
      note: "2 of them were attempted and are due again",
    },
    { destination: "late", waiting: { records: 1 }, note: "disabled: its line is held" },
  ]);
});

test("a removed destination is listed while records are left on its topic", async () => {
  const { append, status } = world(...ALL, "deliveries.old", "deliveries.empty");
  append("deliveries.old");
  const { stages } = await status();
  const left = stages.filter(({ note }) => note?.startsWith("not configured"));
  expect(left).toMatchObject([{ destination: "old", waiting: { records: 1 } }]);
});

test("dead letters of the last day are counted by reason and destination", async () => {
  const { cluster, clock, status } = world(...ALL);
  const gone = "gone" as DestinationId;
  cluster.append(letterRecord({}, { failedAtMs: clock.nowMs() }));
  await clock.advance(86_400_000 + 600_000);
  cluster.append(letterRecord({}, { failedAtMs: clock.nowMs() }));
  cluster.append(letterRecord({ destination: gone }, { failedAtMs: clock.nowMs() }));
  cluster.append(letterRecord({}, { failedAtMs: clock.nowMs(), reason: "expired" }));
  const { letters } = await status();
  expect(letters).toEqual({
    retained: 4,
    lastDay: 3,
    counts: {
      byReason: new Map([
        ["rejected", 2],
        ["expired", 1],
      ]),
      byDestination: new Map([
        ["crm", 2],
        ["gone", 1],
      ]),
    },
  });
});

test("what does not exist yet is not known, and the text says so", async () => {
  const { kafka, finish } = world("calls");
  const shell = fakeShell();
  const options = { config: CONFIG, admins: [], overMs: 1_000, json: false, signal: never };
  expect(await finish(showStatus(kafka, options, shell))).toBe(0);
  const out = shell.output();
  expect(out).toContain("crm: the topic sw.deliveries.crm does not exist.\n");
  expect(out).toContain("delay 10s: its topic does not exist.\n");
  expect(out).toContain("Dead letters: their topic does not exist.\n");
  expect(out).toContain("--admin HOST:PORT");
});

test("--json prints the same as one object", async () => {
  const { kafka, finish, append } = world(...ALL);
  append("deliveries.crm");
  const shell = fakeShell();
  const options = { config: CONFIG, admins: [], overMs: 1_000, json: true, signal: never };
  await finish(showStatus(kafka, options, shell));
  const report = JSON.parse(shell.output()) as StatusReport;
  expect(report.stages.find(({ destination }) => destination === "crm")).toEqual({
    stage: "deliver",
    destination: "crm",
    lag: 1,
    oldestMs: expect.any(Number),
    donePerMinute: null,
    failedPerMinute: null,
    deadLettersLastDay: 0,
    breakers: null,
    halts: [],
    note: null,
  });
  expect(report.tiers[0]).toEqual({
    tier: "10s",
    waiting: 0,
    oldestMs: null,
    dueInMs: null,
    retired: false,
  });
  expect(report.deadLetters).toEqual({ retained: 0, lastDay: 0, byReason: {} });
});

const CURRENT = {
  brokersAway: [],
  configHash: "0011aabbccdd",
  configInvalidSince: null,
  settingsToRestart: 0,
  destinationsWaiting: 0,
};

const REPORT: StatusReport = {
  at: "2026-03-01T09:30:15.250Z",
  stages: [
    {
      stage: "route",
      destination: null,
      lag: 0,
      oldestMs: null,
      donePerMinute: 12_345.6,
      failedPerMinute: 0,
      deadLettersLastDay: null,
      breakers: null,
      halts: [],
      note: null,
    },
    {
      stage: "deliver",
      destination: "crm-hook",
      lag: 120_000,
      oldestMs: 7_500_000,
      donePerMinute: 0,
      failedPerMinute: 2.5,
      deadLettersLastDay: 17,
      breakers: { endpoints: 3, open: 2, halfOpen: 1 },
      halts: [],
      note: null,
    },
    {
      stage: "delay",
      destination: null,
      lag: 5,
      oldestMs: 400_000,
      donePerMinute: 4,
      failedPerMinute: 0,
      deadLettersLastDay: null,
      breakers: null,
      halts: [],
      note: null,
    },
  ],
  tiers: [
    { tier: "10s", waiting: 4, oldestMs: 9_000, dueInMs: 1_000, retired: false },
    { tier: "2m", waiting: 1, oldestMs: 400_000, dueInMs: -280_000, retired: true },
  ],
  deadLetters: { retained: 1_017, lastDay: 17, byReason: { expired: 3, rejected: 14 } },
  blockedTopics: [],
  processes: [
    { ...CURRENT, admin: "a:9464", error: null },
    { ...CURRENT, admin: "b:9464", error: "ECONNREFUSED", configHash: null },
  ],
};

test("the tables line up, numbers below each other", () => {
  expect(statusText(REPORT, fakeShell().colors).split("\n")).toEqual([
    "2026-03-01 09:30:15 UTC",
    "",
    "STAGE    DESTINATION      LAG  OLDEST  DONE/MIN  FAILED/MIN  DEAD LETTERS 24H  BREAKERS",
    "route    -                  0  -         12,346           0                 -  -",
    "deliver  crm-hook     120,000  2h 5m          0         2.5                17  2 of 3 open",
    "delay    -                  5  6m 40s         4           0                 -  -",
    "",
    "DELAY         WAITING  OLDEST  NEXT DUE",
    "10s                 4  9s      in 1s",
    "2m (retired)        1  6m 40s  overdue 4m 40s",
    "",
    "DEAD LETTERS  LAST 24H",
    "rejected      14",
    "expired       3",
    "all           17, 1,017 retained",
    "",
    "PROCESS  CONFIGURATION",
    "a:9464   0011aabbccdd",
    "b:9464   -",
    "",
    "b:9464 cannot be reached (ECONNREFUSED): its work is not in the rates.",
    "",
  ]);
});

test("a halted stage is named below the tables", () => {
  const halts = [{ topic: "sw.calls", partition: 3, offset: 42 }];
  const stages = REPORT.stages.map((each) => (each.stage === "route" ? { ...each, halts } : each));
  const lines = statusText({ ...REPORT, stages }, fakeShell().colors).split("\n");
  expect(lines.filter((line) => line.includes("halted"))).toEqual([
    "route: halted at a damaged batch in sw.calls, partition 3, offset 42. Bring the batch back, or give it up: switchyard skip-damaged sw.calls 3 42",
  ]);
});

test("processes that run different configurations are told", () => {
  const [one] = REPORT.processes;
  if (one === undefined) throw new Error("no process");
  const differ = { ...REPORT, processes: [one, { ...one, configHash: "ffffffffffff" }] };
  const told = "The processes run different configurations";
  expect(statusText(differ, fakeShell().colors)).toContain(told);
  expect(statusText(REPORT, fakeShell().colors)).not.toContain(told);
});

test("the hash of a process is that of its metrics", () => {
  const none: KafkaStatus = { stages: [], tiers: [], letters: null };
  const info = (hash: string, value: number) => {
    return { name: "switchyard_config_info", labels: { hash }, value };
  };
  const look = { atMs: 1, samples: [info("a0", 0), info("b1", 1)] };
  const scraped = [
    { kind: "process", address: "a:1", process: { before: look, after: look } },
    { kind: "process", address: "b:1", process: { before: look, after: { atMs: 2, samples: [] } } },
  ] as const;
  expect(statusReport(none, scraped, 0).processes).toEqual([
    { ...CURRENT, admin: "a:1", error: null, configHash: "b1" },
    { ...CURRENT, admin: "b:1", error: null, configHash: null },
  ]);
});

test("a refused file, and what waits for a restart or for topics, is told of its process", () => {
  const metric = (name: string, value: number) => {
    return { name: `switchyard_config_${name}`, labels: {}, value };
  };
  const samples = [
    metric("invalid_since_timestamp_seconds", Date.parse("2026-03-01T09:12:00Z") / 1_000),
    metric("needs_restart", 2),
    metric("destinations_waiting", 1),
  ];
  const look = { atMs: 1, samples };
  const scraped = [
    { kind: "process", address: "a:1", process: { before: look, after: look } },
  ] as const;
  const none: KafkaStatus = { stages: [], tiers: [], letters: null };
  const lines = statusText(statusReport(none, scraped, 0), fakeShell().colors).split("\n");
  expect(lines.filter((line) => line.startsWith("a:1") && line.length > 10)).toEqual([
    "a:1 refuses the configuration file since 2026-03-01 09:12:00 UTC, and runs an earlier one: /readyz names the problem.",
    "a:1: 2 setting(s) wait for a restart.",
    "a:1: 1 destination(s) wait for their topics.",
  ]);
});

test("a process that a broker does not answer tells it, and since when", () => {
  const none: KafkaStatus = { stages: [], tiers: [], letters: null };
  const since = "switchyard_kafka_away_since_timestamp_seconds";
  const samples = [
    { name: since, labels: { broker: "k:1" }, value: 0 },
    { name: since, labels: { broker: "k:2" }, value: 1_772_357_415 },
  ];
  const look = { atMs: 1, samples };
  const process = { before: look, after: look };
  const report = statusReport(none, [{ kind: "process", address: "a:1", process }], 0);
  expect(report.processes[0]?.brokersAway).toEqual([
    { broker: "k:2", since: "2026-03-01T09:30:15.000Z" },
  ]);
  expect(statusText(report, fakeShell().colors)).toContain(
    "a:1: the Kafka broker k:2 does not answer it since 2026-03-01 09:30:15 UTC.",
  );
});

test("the page on operations shows what is printed", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/operations.md"), "utf8");
  const printed = statusText({ ...REPORT, processes: [] }, fakeShell().colors).split("\nRates")[0];
  expect(page).toContain(printed);
});

test("a topic that takes nothing is told of first, and how much went around it", () => {
  const since = "2026-03-01T09:12:00.000Z";
  const blocked = [
    { topic: "sw.deliveries.crm", since, wentAround: 11_243 },
    { topic: "sw.delays.10s", since, wentAround: null },
  ];
  const text = statusText({ ...REPORT, blockedTopics: blocked }, fakeShell().colors);
  expect(text.split("\n").slice(-4, -2)).toEqual([
    "sw.deliveries.crm takes nothing since 2026-03-01 09:12:00 UTC: 11,243 deliveries went around it.",
    "sw.delays.10s takes nothing since 2026-03-01 09:12:00 UTC: its records wait.",
  ]);
});

test("too many dead letters to read are said to be so", () => {
  const deadLetters = { retained: 900_000, lastDay: 500_000, byReason: null };
  const text = statusText({ ...REPORT, deadLetters }, fakeShell().colors);
  expect(text).toContain("all           500,000, 900,000 retained");
  expect(text).toContain("too many to count by reason");
});

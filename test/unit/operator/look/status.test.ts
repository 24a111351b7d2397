// `switchyard status` on a Kafka in memory: the data, and the tables.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { STAGE_NAMES, STAGES } from "../../../../src/domain/stages.ts";
import { waitingOfPaused } from "../../../../src/operator/act/paused-text.ts";
import { beginning, remainingOf, sumOf } from "../../../../src/operator/act/wait.ts";
import type { UseKafka } from "../../../../src/operator/look/look.ts";
import type { Polled } from "../../../../src/operator/look/processes.ts";
import { statusReport } from "../../../../src/operator/look/report.ts";
import { type KafkaStatus, kafkaStatus } from "../../../../src/operator/look/status.ts";
import type { StatusReport } from "../../../../src/operator/look/status-report.ts";
import { statusText } from "../../../../src/operator/look/text.ts";
import { type ShowOptions, showStatus } from "../../../../src/program/cli/status/show.ts";
import { config } from "../../../support/build/config-source.ts";
import {
  type Count,
  destinationReport,
  polledProcess,
  processReport,
  stageReport,
  statusReportOf,
} from "../../../support/build/status-report.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster, type MemoryKafka } from "../../../support/memory-kafka/memory-kafka.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";
import { deadLetterRecord } from "../../../support/worlds/replay-world.ts";

const CONFIG = config(`
kafka: { brokers: [a:1], topicPrefix: sw. }
destinations:
  - { id: crm, type: webhook, name: A, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: late, type: webhook, name: B, enabled: false, endpoints: [{ url: "https://b.example.com/" }] }
  - { id: warehouse, type: topic, name: C }
delivery: { retryDelays: [10s, 30s, 30s] }
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
  /** Runs the command with this Kafka. */
  const show = async (given: Partial<ShowOptions> = {}) => {
    const shell = fakeShell();
    const use: UseKafka = (work) => work(kafka, never);
    const exit = await finish(showStatus(use, { ...SHOWN, ...given }, shell, never));
    return { exit, out: shell.output() };
  };
  return { clock, cluster, kafka, finish, append, status, show };
}

const SHOWN: ShowOptions = {
  config: CONFIG,
  hash: "0011aabbccdd",
  ...{ admins: [], rateWindowMs: 1_000, json: false, failing: false, destination: null },
};

let ids = 0;
const nextId = () => {
  ids += 1;
  return `m-${ids}`;
};

/** Returns the headers of a delivery in a delay topic. */
const waiting = (destination: string, atMs: number, dueAtMs: number, messageId = nextId()) => ({
  "switchyard-message-id": messageId,
  "switchyard-source": "web",
  "switchyard-destination": destination,
  "switchyard-timestamp": `${atMs}`,
  "switchyard-received-at": `${atMs}`,
  "switchyard-attempt": "1",
  "switchyard-first-attempt-at": `${atMs}`,
  "switchyard-retry-count": "1",
  "switchyard-due-at": `${dueAtMs}`,
  "switchyard-retry-topic": `sw.retries.${destination}`,
});

const ALL = [
  ...["calls", "deliveries.crm", "deliveries.late", "deliveries.warehouse", "delays.10s"],
  ...["delays.30s", "dead-letters", "deletion-requests", "audience-syncs"],
];

test("every stage that reads with a consumer group has a row", async () => {
  const reading = STAGE_NAMES.filter((name) => STAGES[name].input !== null);
  const { stages, destinations } = await world(...ALL).status();
  // The rows of the deliver stage are those of destinations.
  expect(destinations.length).toBeGreaterThan(0);
  const shown = new Set(["deliver", ...stages.map(({ stage }) => stage)]);
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
  const { stages, destinations } = await status();
  expect(stages).toMatchObject([
    // Nothing was committed, so all records are waiting.
    { stage: "route", waiting: { records: 4, oldestAtMs: startMs } },
    { stage: "audience", waiting: { records: 0 } },
    { stage: "deletion", waiting: { records: 0 } },
    { stage: "delay", waiting: { records: 0 } },
  ]);
  expect(destinations).toMatchObject([
    { destination: "crm", line: { records: 3, oldestAtMs: startMs + 2_000 } },
    { destination: "late", line: { records: 0, oldestAtMs: null }, retries: null },
    { destination: "warehouse" },
  ]);
});

test("retry delays: what waits, when the next is due, and those that are retired", async () => {
  const { append, clock, finish, kafka, status } = world(...ALL, "delays.2m", "delays.strange");
  const startMs = clock.nowMs();
  const waits = (dueInMs: number) => waiting("crm", startMs, startMs + dueInMs);
  append("delays.10s", 0, waits(10_000));
  append("delays.10s", 0, waits(11_000));
  append("delays.10s", 1, waits(9_000));
  append("delays.2m", 0, waits(120_000));
  append("delays.30s", 0);
  await finish(
    kafka.admin.commit("sw.delay.10s", "sw.delays.10s", [
      { partition: 1, offset: 1, metadata: "" },
    ]),
  );
  const { delayTopics, stages } = await status();
  expect(delayTopics).toMatchObject([
    { delay: "10s", isRetired: false, waiting: { records: 2, dueAtMs: startMs + 10_000 } },
    { delay: "30s", isRetired: false, waiting: { records: 1, dueAtMs: null } },
    { delay: "2m", isRetired: true, waiting: { records: 1, dueAtMs: startMs + 120_000 } },
  ]);
  expect(stages.at(-1)).toMatchObject({
    stage: "delay",
    waiting: { records: 4, oldestAtMs: startMs, dueAtMs: startMs + 10_000 },
  });
});

test("retries that are due count with their queue, and one that is disabled says what that means", async () => {
  const { append, show } = world(...ALL, "retries.crm", "retries.late");
  append("deliveries.crm");
  append("retries.crm");
  append("retries.crm");
  append("retries.late");
  const { out } = await show({ json: true });
  const { destinations } = JSON.parse(out) as StatusReport;
  const note = "disabled: new calls are not written to it, and its queue is on hold";
  expect(destinations).toMatchObject([
    { destination: "late", state: "on-hold", hold: { reason: "disabled" }, waiting: 1, note },
    { destination: "crm", state: null, waiting: 3, due: 2, note: null },
    {
      destination: "warehouse",
      waiting: null,
      note: "a topic destination: its consumers are outside Switchyard",
    },
  ]);
  expect((await show()).out).toContain(`late: ${note}.\n`);
});

test("a removed destination is listed while records are left on its topic", async () => {
  const { append, status } = world(...ALL, "deliveries.old", "deliveries.empty");
  append("deliveries.old");
  const { destinations } = await status();
  const left = destinations.filter(({ isRemoved }) => isRemoved);
  expect(left).toMatchObject([{ destination: "old", line: { records: 1 } }]);
});

test("--destination reads of that one alone", async () => {
  const { append, show } = world(...ALL, "deliveries.old");
  append("deliveries.old");
  const { out } = await show({ json: true, destination: "late" });
  const { destinations } = JSON.parse(out) as StatusReport;
  expect(destinations.map(({ destination }) => destination)).toEqual(["late"]);
});

test("deliveries that wait are counted in Kafka, by destination and retry delay, with the next one due", async () => {
  const { append, clock, show } = world(...ALL, "delays.strange");
  const waits = (destination: string, dueInMs: number) =>
    waiting(destination, clock.nowMs(), clock.nowMs() + dueInMs);
  append("delays.10s", 0, waits("crm", 9_000));
  append("delays.10s", 1, waits("crm", 8_000));
  append("delays.30s", 0, waits("crm", 29_000));
  append("delays.30s", 1, waits("late", 29_000));
  const { out } = await show({ json: true });
  const { destinations } = JSON.parse(out) as StatusReport;
  expect(destinations).toMatchObject([
    { destination: "late", awaitingRetry: 1, byDelay: { "30s": 1 }, nextAttemptAt: null },
    { destination: "crm", awaitingRetry: 3, byDelay: { "10s": 2, "30s": 1 } },
    { destination: "warehouse", awaitingRetry: 0 },
  ]);
  expect(destinations[1]?.nextAttemptAt).toEqual(expect.any(String));
});

test("a delivery that has moved, but whose offset is not committed, is counted once", async () => {
  const { append, clock, kafka, finish, status } = world(...ALL, "retries.crm");
  const delivery = (id: string, dueInMs: number) =>
    waiting("crm", clock.nowMs(), clock.nowMs() + dueInMs, id);
  // Two were scheduled for retry, one of them was returned and failed again, and one was only returned.
  for (const id of ["a", "b", "c", "queued"]) append("deliveries.crm", 0, delivery(id, 0));
  for (const id of ["a", "b", "c"]) append("delays.10s", 0, delivery(id, -1));
  for (const id of ["a", "b"]) append("retries.crm", 0, delivery(id, -1));
  append("delays.30s", 0, delivery("a", 29_000));
  const of = async () => {
    const { destinations, awaitingRetry, stages } = await status();
    const crm = destinations.find(({ destination }) => destination === "crm");
    const inDelays = Object.values(awaitingRetry?.get("crm")?.byDelay ?? {});
    const waits = inDelays.reduce((sum, count) => sum + count, 0);
    const delay = stages.find(({ stage }) => stage === "delay")?.waiting?.records;
    return [crm?.line?.records, crm?.retries?.records, waits, delay];
  };
  expect(await of()).toEqual([1, 0, 3, 3]);
  const looking = { kafka, config: CONFIG, destination: "crm" as DestinationId, signal: never };
  const begun = await finish(beginning(looking, clock.nowMs() + 1));
  const left = await finish(remainingOf(looking, begun));
  expect([left.queued, sumOf(left)]).toEqual([1, 4]);
  expect(await finish(waitingOfPaused(looking, null))).toMatchObject({
    kind: "counted",
    queued: 1,
  });
});

test("the deliveries of one call for several endpoints are counted apart, and once if a URL was changed", async () => {
  const { append, clock, status } = world(...ALL, "retries.crm");
  const nowMs = clock.nowMs();
  const share = (endpoint: string, dueInMs: number) => ({
    ...waiting("crm", nowMs, nowMs + dueInMs, "a"),
    "switchyard-endpoint": endpoint,
  });
  append("retries.crm", 0, share("2,0123456789abcdef,0000000000000001", -1));
  append("delays.30s", 0, share("2,fedcba9876543210,0000000000000001", 29_000));
  append("delays.30s", 0, share("1,0000000000000001,fedcba9876543210", 29_000));
  const { destinations, awaitingRetry } = await status();
  const crm = destinations.find(({ destination }) => destination === "crm");
  expect(crm?.retries?.records).toBe(0);
  expect(awaitingRetry?.get("crm")?.byDelay).toEqual({ "30s": 2 });
});

test("nobody attempts what a topic destination or one that is not configured has: no next attempt", async () => {
  const { append, clock, show } = world(...ALL, "deliveries.gone");
  for (const id of ["crm", "warehouse", "gone"]) append(`deliveries.${id}`);
  for (const id of ["warehouse", "gone"]) {
    append("delays.10s", 0, waiting(id, clock.nowMs(), clock.nowMs() + 10_000));
  }
  const { out } = await show({ json: true });
  const { destinations } = JSON.parse(out) as StatusReport;
  const next = destinations.map(({ destination, nextAttemptAt }) => [destination, nextAttemptAt]);
  expect(Object.fromEntries(next)).toEqual({
    crm: expect.any(String),
    late: null,
    warehouse: null,
    gone: null,
  });
  const of = (id: string) => destinations.find(({ destination }) => destination === id);
  expect(of("warehouse")).toMatchObject({ waiting: null, due: null, oldestMs: null });
  expect(of("gone")).toMatchObject({ waiting: 1 });
});

test("a thousand destinations cost as many calls as one", async () => {
  const names = Array.from({ length: 1_000 }, (_, number) => `d${number}`);
  const lines = names.map((id) => {
    return `  - { id: ${id}, type: webhook, name: ${id}, endpoints: [{ url: "https://${id}.example.com/" }] }`;
  });
  const many = config(`
kafka: { brokers: [a:1], topicPrefix: sw. }
destinations:
${lines.join("\n")}
`);
  const { kafka, cluster, finish } = world(...ALL);
  for (const id of names) cluster.createTopic(`sw.deliveries.${id}`, 1);
  let calls = 0;
  const counting = new Proxy(kafka.admin, {
    get: (admin, name) => {
      const found: unknown = Reflect.get(admin, name);
      if (typeof found !== "function") return found;
      calls += 1;
      return (found as () => unknown).bind(admin);
    },
  });
  const world1000 = new Proxy(kafka, {
    get: (target, name) => {
      if (name === "admin") return counting;
      const found: unknown = Reflect.get(target, name);
      return typeof found === "function" ? (found as () => unknown).bind(target) : found;
    },
  });
  const use: UseKafka = (work) => work(world1000, never);
  const shell = fakeShell();
  const shown = showStatus(use, { ...SHOWN, config: many, json: true }, shell, never);
  expect(await finish(shown)).toBe(0);
  const { destinations } = JSON.parse(shell.output()) as StatusReport;
  expect(destinations).toHaveLength(1_000);
  expect(calls).toBeLessThan(20);
});

test("--failing shows none that is only disabled", async () => {
  const { show } = world(...ALL);
  const { out } = await show({ json: true, failing: true });
  expect((JSON.parse(out) as StatusReport).destinations).toEqual([]);
});

test("without Kafka, and with nobody else to ask, the error is the response", async () => {
  const use: UseKafka = () => Promise.reject(new Error("no broker responds"));
  const shown = showStatus(use, SHOWN, fakeShell(), never);
  await expect(shown).rejects.toThrow("no broker responds");
});

test("dead letters of the last day are counted by reason and destination", async () => {
  const { cluster, clock, status } = world(...ALL);
  const gone = "gone" as DestinationId;
  cluster.append(deadLetterRecord({}, { failedAtMs: clock.nowMs() }));
  await clock.advance(86_400_000 + 600_000);
  cluster.append(deadLetterRecord({}, { failedAtMs: clock.nowMs() }));
  cluster.append(deadLetterRecord({ destination: gone }, { failedAtMs: clock.nowMs() }));
  cluster.append(deadLetterRecord({}, { failedAtMs: clock.nowMs(), reason: "expired" }));
  const { deadLetters } = await status();
  expect(deadLetters).toEqual({
    retained: 4,
    lastDay: 3,
    counts: {
      byReason: new Map(Object.entries({ rejected: 2, expired: 1 })),
      byDestination: new Map(Object.entries({ crm: 2, gone: 1 })),
      replayed: 0,
    },
  });
});

test("what does not exist yet is not known, and the text says so", async () => {
  const { exit, out } = await world("calls").show();
  expect(exit).toBe(0);
  expect(out).toContain("crm: the topic sw.deliveries.crm does not exist.\n");
  expect(out).toContain("delay 10s: the topic sw.delays.10s does not exist.\n");
  expect(out).toContain("Dead letters: the topic sw.dead-letters does not exist.\n");
  expect(out).toContain("--admin HOST:PORT");
});

test("--json prints the same as one object", async () => {
  const { append, show } = world(...ALL);
  append("deliveries.crm");
  const { out } = await show({ json: true });
  const report = JSON.parse(out) as StatusReport;
  const key = "1";
  expect(report.destinations.find(({ destination }) => destination === "crm")).toEqual({
    ...destinationReport({ waiting: 1, due: null, deadLettersLastDay: 0 }),
    ...{ awaitingRetry: 0, byDelay: {} },
    oldestMs: expect.any(Number),
    nextAttemptAt: expect.any(String),
    endpoints: [
      {
        ...{ name: "crm[1] a.example.com", id: key, origin: "https://a.example.com" },
        ...{
          circuit: null,
          failingSince: null,
          failedShare: null,
          unavailable: null,
          last: null,
        },
      },
    ],
  });
  expect(report.delayTopics[0]).toEqual({
    delay: "10s",
    waiting: 0,
    oldestMs: null,
    dueInMs: null,
    retired: false,
    note: null,
  });
  expect(report.deadLetters).toEqual({ retained: 0, lastDay: 0, byReason: {}, replayed: 0 });
  expect(report).toMatchObject({ kafkaError: null, configHash: "0011aabbccdd" });
});

const AT = "2026-03-01T09:30:15.250Z";
const failing = {
  failingSince: "2026-03-01T09:11:40.000Z",
  failedShare: 0.664,
  last: { at: "2026-03-01T09:30:05.000Z", outcome: "retry", cause: "503" },
} as const;

const REPORT = statusReportOf({
  at: AT,
  stages: [
    stageReport({ stage: "route", lag: 0, donePerMinute: 12_345.6, failedPerMinute: 0 }),
    stageReport({
      stage: "delay",
      lag: 5,
      oldestMs: 400_000,
      donePerMinute: 4,
      failedPerMinute: 0,
    }),
  ],
  destinations: [
    destinationReport({
      destination: "crm-hook",
      state: "on-hold",
      hold: {
        reason: "circuit-open",
        since: "2026-03-01T09:12:10.000Z",
        until: "2026-03-01T09:30:45.000Z",
      },
      failingSince: failing.failingSince,
      failedShare: failing.failedShare,
      processes: { owning: 2, onHold: 1, failing: 2 },
      last: { ...failing.last, endpoint: "crm-hook[1] crm.example.com" },
      waiting: 120_000,
      awaitingRetry: 5,
      oldestMs: 7_500_000,
      nextAttemptAt: "2026-03-01T09:30:16.250Z",
      donePerMinute: 0,
      failedPerMinute: 2.5,
      deadLettersLastDay: 17,
      endpoints: [
        {
          name: "crm-hook[1] crm.example.com",
          id: "1",
          origin: "https://crm.example.com",
          circuit: "open",
          unavailable: {
            reason: "circuit-open",
            since: "2026-03-01T09:30:00.000Z",
            until: "2026-03-01T09:30:45.000Z",
          },
          ...failing,
        },
      ],
    }),
    destinationReport({
      destination: "mail",
      state: "delivering",
      processes: { owning: 2, onHold: 0, failing: 0 },
      last: { at: "2026-03-01T09:30:14.000Z", outcome: "accepted", cause: "200", endpoint: "" },
      waiting: 0,
      awaitingRetry: 0,
      donePerMinute: 310,
      failedPerMinute: 0,
      deadLettersLastDay: 0,
      endpoints: [
        {
          name: "mail[1] 10.20.1.4:8080",
          id: "1",
          origin: "http://10.20.1.4:8080",
          circuit: "closed",
          failingSince: null,
          failedShare: 0,
          unavailable: null,
          last: { at: "2026-03-01T09:30:14.000Z", outcome: "accepted", cause: "200" },
        },
      ],
    }),
  ],
  delayTopics: [
    { delay: "10s", waiting: 4, oldestMs: 9_000, dueInMs: 1_000, retired: false, note: null },
    { delay: "2m", waiting: 1, oldestMs: 400_000, dueInMs: -280_000, retired: true, note: null },
  ],
  deadLetters: {
    retained: 1_017,
    lastDay: 17,
    byReason: { expired: 3, rejected: 14 },
    replayed: 0,
  },
  processes: [
    processReport({
      admin: "host-1:9464",
      stages: [{ name: "deliver", partitions: { "deliveries.crm-hook": [0, 1] } }],
    }),
    processReport({ admin: "host-2:9464", stages: [{ name: "route", partitions: {} }] }),
  ],
});

test("a destination that is shown alone has its skipped calls by reason", () => {
  const skipped = { "no-consent": 12, filtered: 1_204 };
  const crm = destinationReport({ destination: "crm", skipped });
  const text = (destinations: StatusReport["destinations"]) =>
    statusText({ ...REPORT, destinations }, fakeShell().colors).split("\n");
  const lines = text([crm]);
  const at = lines.indexOf("SKIPPED CALLS  COUNT  REASON");
  expect(lines.slice(at, at + 4)).toEqual([
    "SKIPPED CALLS  COUNT  REASON",
    "no-consent        12  the call does not grant the consent that the destination requires",
    "filtered       1,204  a filter drops the call",
    "",
  ]);
  for (const without of [
    [crm, destinationReport()],
    [destinationReport({ skipped: {} })],
    [destinationReport()],
  ]) {
    expect(text(without).join()).not.toContain("SKIPPED");
  }
});

test("the tables line up, numbers below each other", () => {
  expect(statusText(REPORT, fakeShell().colors).split("\n")).toEqual([
    "2026-03-01 09:30:15 UTC",
    "",
    "STAGE  LAG  OLDEST  PROCESSED/MIN  FAILED/MIN",
    "route    0  -              12,346           0",
    "delay    5  6m 40s              4           0",
    "",
    "DESTINATION  BACKLOG  AWAITING RETRY  OLDEST  DELIVERED/MIN  FAILED/MIN  DEAD LETTERS 24H  LAST RESPONSE  NEXT ATTEMPT  STATE",
    "crm-hook     120,000               5  2h 5m               0         2.5                17  503 10s ago    in 1s         on hold since 09:12:10: circuit open (1 of 2 processes), failing since 09:11:40: 66 % of attempts in the last minute",
    "mail               0               0  -                 310           0                 0  200 1s ago     -             delivering",
    "",
    "ENDPOINT                     ID  CIRCUIT  LAST RESPONSE  STATE",
    "crm-hook[1] crm.example.com  1   open     503 10s ago    failing since 09:11:40: 66 % of attempts in the last minute, circuit open until 09:30:45",
    "mail[1] 10.20.1.4:8080       1   closed   200 1s ago     accepting",
    "",
    "DELAY         AWAITING RETRY  OLDEST  NEXT RETRY",
    "10s                        4  9s      in 1s",
    "2m (retired)               1  6m 40s  overdue 4m 40s",
    "",
    "DEAD LETTERS  LAST 24H",
    "rejected      14",
    "expired       3",
    "all           17, 1,017 retained",
    "",
    "PROCESS      VERSION  CONFIGURATION  APPLIED   STAGES   PARTITIONS",
    "host-1:9464  1.2.3    0011aabbccdd   08:00:00  deliver           2",
    "host-2:9464  1.2.3    0011aabbccdd   08:00:00  route             0",
    "",
  ]);
});

test("a destination whose endpoints are gone is on hold for that, and has no next attempt", () => {
  const since = "2026-03-01T08:00:00.000Z";
  const gone = { reason: "gone", since, until: null } as const;
  const [crm] = REPORT.destinations;
  const endpoints = crm?.endpoints.map((each) => ({ ...each, ...FINE, unavailable: gone })) ?? [];
  const destination = { ...FINE, state: "on-hold", hold: gone, endpoints } as const;
  const report = destinationReport({ ...crm, ...destination, nextAttemptAt: null });
  const text = statusText({ ...REPORT, destinations: [report] }, fakeShell().colors);
  expect(text).toContain("on hold since 08:00:00: 410 Gone (1 of 2 processes)\n");
  expect(text).toContain("503 10s ago    410 Gone since 08:00:00\n");
});

const FINE = { failingSince: null, failedShare: null, circuit: "closed" } as const;

test("what cannot be counted has its cause: Kafka, or too many records", () => {
  const destinations = REPORT.destinations.map((each) => ({ ...each, awaitingRetry: null }));
  const text = (more: Partial<StatusReport>) =>
    statusText({ ...REPORT, destinations, ...more }, fakeShell().colors);
  const down = text({ kafkaError: "no broker responds" });
  expect(down).toContain("Kafka is unreachable: no broker responds");
  expect(down).toContain("unknown, because Kafka is unreachable.");
  expect(down).not.toContain("too many records");
  expect(text({})).toContain(
    "too many records to count in Kafka. The processes that run the delay",
  );
  expect(text({ processes: [] })).toContain(
    "too many records to count in Kafka. With --admin, the",
  );
});

test("a halted stage is named below the tables", () => {
  const halts = [{ topic: "sw.calls", partition: 3, offset: 42 }];
  const stages = REPORT.stages.map((each) =>
    each.stage === "route" ? { ...each, halted: halts } : each,
  );
  const lines = statusText({ ...REPORT, stages }, fakeShell().colors).split("\n");
  expect(lines.filter((line) => line.includes("halted"))).toEqual([
    "route is halted at a corrupt batch in sw.calls, partition 3, offset 42. Restore the batch, or skip it: switchyard skip-corrupt-batch sw.calls 3 42",
  ]);
});

const KAFKA: KafkaStatus = {
  stages: [],
  destinations: [],
  delayTopics: [],
  awaitingRetry: null,
  countedDelays: new Set(),
  pauses: [],
  deadLetters: null,
  notes: { awaitingRetry: null, deadLetters: null },
  errors: [],
};
const found = (polled: readonly Polled[]) => {
  const kafka = { config: { destinations: [] }, kafka: KAFKA, kafkaError: null };
  return statusReport({ ...kafka, hash: "0011aabbccdd", polled, nowMs: Date.parse(AT) });
};
const notes = (report: StatusReport) => statusText(report, fakeShell().colors);

test("processes that run different configurations are reported, and one that does not run the file", () => {
  const other = processReport({ admin: "b:9464", configHash: "ffffffffffff" });
  const differ = notes({ ...REPORT, processes: [processReport(), other] });
  expect(differ).toContain("The processes run different configurations");
  expect(differ).toContain("b:9464 runs configuration ffffffffffff, but the file is 0011aabbccdd:");
  const both = notes({ ...REPORT, processes: [other, other] });
  expect(both).not.toContain("The processes run different configurations");
  expect(both).toContain("b:9464 runs configuration ffffffffffff");
  expect(notes(REPORT)).not.toContain("configurations");
});

/** Returns one process with these metrics. */
const measured = (count: Count) => found([polledProcess(count, count)]);

test("of a process that is unreachable only that is known", () => {
  const status = {
    stages: [{ name: "route", partitions: { calls: [0, 2] } }],
    configuration: { hash: "b1", appliedAt: "2026-03-01T08:00:01.000Z" },
  } as const;
  const nothing: Count = () => undefined;
  const { processes } = found([
    polledProcess(nothing, nothing, status),
    { kind: "unreachable", address: "c:1", why: "ECONNREFUSED" },
  ]);
  const unknown = { version: null, startedAt: null, stages: null, configAppliedAt: null };
  expect(processes).toEqual([
    processReport({
      admin: "a:1",
      configHash: "b1",
      configAppliedAt: "2026-03-01T08:00:01.000Z",
      stages: [{ name: "route", partitions: { calls: [0, 2] } }],
    }),
    processReport({ ...unknown, admin: "c:1", configHash: null, error: "ECONNREFUSED" }),
  ]);
  expect(notes({ ...REPORT, processes })).toContain("c:1 is unreachable (ECONNREFUSED)");
});

test("a state store that cannot be used is reported of its process", () => {
  const of = (value: number) =>
    notes(measured((metrics) => metrics.audienceStoresUnavailable.bind({}).set(value)));
  expect(of(0)).not.toContain("state store");
  expect(of(2)).toContain(
    "a:1: 2 state stores of the audience stage cannot be used, so some audiences are not processed. See /readyz for the error.",
  );
});

test.each([
  ["clockOffset", 1.9, null],
  [
    "clockOffset",
    2,
    "The clock of a:1 is 2 s ahead of the brokers' clock: docs/troubleshooting.md#clocks",
  ],
  [
    "clockOffset",
    -18_000.4,
    "The clock of a:1 is 18000 s behind the brokers' clock: docs/troubleshooting.md#clocks",
  ],
  ["routesMissing", 0, null],
  [
    "routesMissing",
    2,
    "a:1 does not route calls to 2 destinations to which another process routes calls. See /readyz for the names.",
  ],
] as const)("%s at %d: %j", (name, value, line) => {
  const text = notes(measured((metrics) => metrics[name].bind({}).set(value)));
  expect(text.split("\n").filter((each) => /clock|does not route/.test(each))).toEqual(
    line === null ? [] : [line],
  );
});

test("a refused file, and what waits for a restart or for topics, is reported of its process", () => {
  const report = measured((metrics) => {
    metrics.configInvalidSince.bind({}).set(Date.parse("2026-03-01T09:12:00Z") / 1_000);
    metrics.configNeedsRestart.bind({}).set(2);
    metrics.configHeldBack.bind({}).set(1);
  });
  const lines = notes(report).split("\n");
  expect(lines.filter((line) => /^a:1: |file on a:1/.test(line))).toEqual([
    "The configuration file on a:1 has been invalid since 2026-03-01 09:12:00 UTC. The process still runs the previous configuration. See /readyz for the first problem.",
    "a:1: 2 settings are waiting for a restart.",
    "a:1: 1 destination is waiting for its topics.",
  ]);
});

test("a process to which a broker does not respond reports this, and since when", () => {
  const nothing: Count = () => undefined;
  const outage = { broker: "k:2", since: "2026-03-01T09:30:15.000Z", error: "no response" };
  const report = found([polledProcess(nothing, nothing, { unreachableBrokers: [outage] })]);
  expect(report.processes[0]?.unreachableBrokers).toEqual([
    { broker: "k:2", since: "2026-03-01T09:30:15.000Z" },
  ]);
  expect(statusText(report, fakeShell().colors)).toContain(
    "a:1 has been unable to reach broker k:2 since 2026-03-01 09:30:15 UTC.",
  );
});

test("the page on monitoring shows what is printed", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/monitor.md"), "utf8");
  expect(page).toContain(statusText(REPORT, fakeShell().colors));
});

test("a topic that takes nothing is reported of first, and how much went around it", () => {
  const since = "2026-03-01T09:12:00.000Z";
  const blocked = [
    { topic: "sw.deliveries.crm", since, rerouted: 11_243 },
    { topic: "sw.delays.10s", since, rerouted: null },
  ];
  const text = statusText({ ...REPORT, unwritableTopics: blocked }, fakeShell().colors);
  expect(text.split("\n").slice(-3, -1)).toEqual([
    "Brokers have rejected writes to sw.deliveries.crm since 2026-03-01 09:12:00 UTC. 11,243 deliveries were rerouted through a delay topic.",
    "Brokers have rejected writes to sw.delays.10s since 2026-03-01 09:12:00 UTC: its records are waiting.",
  ]);
});

test.each([
  [null, []],
  [{ users: 0, changedAt: "2026-03-01T09:12:00.000Z" }, []],
  [{ users: 1, changedAt: null }, ["1 user suppressed."]],
  [
    { users: 1_204, changedAt: "2026-03-01T09:12:00.000Z" },
    ["1,204 users suppressed, as of 2026-03-01 09:12:00 UTC."],
  ],
])("suppressed users are shown, with the time of the last change: %j", (suppressions, shown) => {
  const text = statusText({ ...REPORT, suppressions }, fakeShell().colors);
  expect(text.split("\n").filter((line) => line.includes("suppressed"))).toEqual(shown);
});

test("too many dead letters to read are said to be so", () => {
  const deadLetters = { retained: 900_000, lastDay: 500_000, byReason: null, replayed: null };
  const text = statusText({ ...REPORT, deadLetters }, fakeShell().colors);
  expect(text).toContain("all           500,000, 900,000 retained");
  expect(text).toContain("too many to count by reason");
});

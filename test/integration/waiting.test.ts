// Gauges of what waits in delay topics, compared with a real Kafka: through a restart, a second
// process and an outage. Most of it is not in hand.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { startDelay } from "../../src/delay/stage.ts";
import { waitingByDestination } from "../../src/delay/waiting-by-destination.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { groupNames, tierDelayMs, topicNames } from "../../src/domain/topics.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createMetrics } from "../../src/telemetry/instruments.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { type BrokerProxy, startProxy } from "../chaos/proxy.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";
import { LogLines } from "../support/log/log-lines.ts";

const CRM = "crm" as DestinationId;
const BILLING = "billing" as DestinationId;
const TIERS = ["10m", "60m"];
const WINDOW_MS = 4 * 3_600_000;
const PARTITIONS = 4;
/** By destination and tier. */
const PARKED = { "crm/10m": 5_000, "billing/10m": 300, "crm/60m": 900 } as const;
/** Two looks, reading ahead, and a session that has to end first. */
const TIMEOUT = { timeout: 90_000, interval: 250 };

let proxy: BrokerProxy;
let broker: PrivateKafka;
let prefix: string;
beforeAll(async () => {
  proxy = await startProxy();
  broker = await startKafka({ private: true, fronts: [proxy.address] });
  proxy.leadTo(broker.behind[0] ?? "");
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await broker?.stop();
});

let parkedFromMs: number;
let parkedToMs: number;
beforeEach(async () => {
  prefix = uniquePrefix("waiting");
  const topics = topicNames(prefix);
  const kafka = connect();
  const names = [...TIERS.map(topicOf), topics.deadLetters];
  const destinations = [CRM, BILLING].flatMap((id) => [topics.deliveries(id), topics.returns(id)]);
  await kafka.admin.create(
    [...names, ...destinations].map((name) => {
      return { name, partitions: PARTITIONS, replicationFactor: 1, config: {} };
    }),
  );
  parkedFromMs = Date.now();
  for (const [labels, count] of Object.entries(PARKED)) await park(kafka, labels, count);
  parkedToMs = Date.now();
  await kafka.close();
});

function connect(): Kafka {
  const connection = { brokers: [proxy.address], clientId: "waiting", tls: null, sasl: null };
  const limits = { sessionTimeoutMs: 6_000, recordMaxBytes: () => 1_000_000 };
  return createKafka({ ...connection, ...limits }, new LogLines().log);
}

function topicOf(tier: string): string {
  return topicNames(prefix).delays(tierDelayMs(tier) ?? 0);
}

async function park(kafka: Kafka, labels: string, count: number): Promise<void> {
  const [destination = "", tier = ""] = labels.split("/");
  const nowMs = Date.now();
  const parked = deliveryOf({
    destination: destination as DestinationId,
    attempt: 1,
    firstAttemptAtMs: nowMs,
    dueAtMs: nowMs + (tierDelayMs(tier) ?? 0),
  });
  const headers = deliveryHeaders(parked);
  const producer = kafka.producer();
  await producer.send(
    Array.from({ length: count }, (_, user) => {
      const key = Buffer.from(`user-${user}`);
      return { topic: topicOf(tier), key, value: Buffer.alloc(500, 1), headers };
    }),
  );
  await producer.close(5_000);
}

/** A process with the stage and its gauges. */
async function startProcess() {
  const kafka = connect();
  kafka.watch();
  const metrics = createMetrics();
  const producer = kafka.producer();
  const failures: Error[] = [];
  const onFatal = (error: Error) => failures.push(error);
  const stage = await startDelay(
    { kafka, producer, clock: systemClock, log: new LogLines().log, metrics, onFatal },
    {
      topics: topicNames(prefix),
      groups: groupNames(prefix),
      tiers: TIERS,
      maxBytes: 100_000,
      drainLimitMs: 1_000,
      destinations: [CRM, BILLING],
      shownMax: Number.POSITIVE_INFINITY,
      windowMs: WINDOW_MS,
    },
  );
  const values = async (name: string) => {
    const found: Record<string, number> = {};
    for (const line of (await metrics.text()).split("\n")) {
      if (!line.startsWith(`${name}{`)) continue;
      const labels = [...line.matchAll(/="([^"]*)"/g)].map(([, value]) => value).join("/");
      found[labels] = Number(line.slice(line.lastIndexOf(" ")));
    }
    return found;
  };
  return {
    failures,
    waiting: () => values("switchyard_deliveries_waiting"),
    unknown: () => values("switchyard_deliveries_waiting_unknown_partitions"),
    times: (of: string) => values(`switchyard_deliveries_${of}_timestamp_seconds`),
    stop: async () => {
      await stage[Symbol.asyncDispose]();
      await producer.close(5_000);
      await kafka.close();
    },
  };
}

/** As Kafka holds it, read by nobody of ours. */
async function held(): Promise<Record<string, number>> {
  const kafka = connect();
  const { signal } = new AbortController();
  const asked = { tiers: TIERS, topics: topicNames(prefix), groups: groupNames(prefix), signal };
  await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
  const found = await waitingByDestination(
    { kafka, clock: systemClock },
    { ...asked, destinations: [CRM, BILLING], recordsMax: 100_000 },
  );
  expect(found.flatMap(({ unread, errors }) => [unread, ...errors])).toEqual([0, 0]);
  return Object.fromEntries(
    found.flatMap(({ tier, destinations }) =>
      [...destinations].map(([label, { count }]) => [`${label}/${tier}`, count]),
    ),
  );
}

test("two destinations in two tiers are told as Kafka holds them, also by the next process", async () => {
  // The coordinator of a broker that has just started may still load its groups.
  await expect.poll(held, TIMEOUT).toEqual(PARKED);
  const first = await startProcess();
  await expect.poll(first.waiting, TIMEOUT).toEqual(PARKED);
  expect(await first.unknown()).toEqual({ "10m": 0, "60m": 0 });
  const oldest = (await first.times("oldest_waiting"))[CRM] ?? 0;
  expect(oldest * 1_000).toBeGreaterThanOrEqual(parkedFromMs);
  expect(oldest * 1_000).toBeLessThanOrEqual(parkedToMs);
  const due = ((await first.times("next_due"))[CRM] ?? 0) * 1_000 - 600_000;
  expect(due).toBeGreaterThanOrEqual(parkedFromMs);
  expect(due).toBeLessThanOrEqual(parkedToMs);
  const end = ((await first.times("first_window_end"))[BILLING] ?? 0) * 1_000 - WINDOW_MS;
  expect(end).toBeGreaterThanOrEqual(parkedFromMs);
  expect(end).toBeLessThanOrEqual(parkedToMs);
  const kafka = connect();
  await park(kafka, "billing/60m", 77);
  await kafka.close();
  const more = { ...PARKED, "billing/60m": 77 };
  await expect.poll(first.waiting, TIMEOUT).toEqual(more);
  await first.stop();
  expect(await first.waiting()).toEqual({});

  const second = await startProcess();
  await expect.poll(second.waiting, TIMEOUT).toEqual(more);
  await expect.poll(held, TIMEOUT).toEqual(more);
  await second.stop();
  expect([...first.failures, ...second.failures]).toEqual([]);
}, 240_000);

test("with a second process the sums stay right, and each partition is counted once", async () => {
  const first = await startProcess();
  await expect.poll(first.waiting, TIMEOUT).toEqual(PARKED);
  const second = await startProcess();
  const sums = async () => {
    const [one, other] = await Promise.all([first.waiting(), second.waiting()]);
    const labels = new Set([...Object.keys(one), ...Object.keys(other)]);
    return Object.fromEntries([...labels].map((key) => [key, (one[key] ?? 0) + (other[key] ?? 0)]));
  };
  await expect.poll(async () => (await second.waiting())["crm/10m"], TIMEOUT).toBeGreaterThan(0);
  await expect.poll(sums, TIMEOUT).toEqual(PARKED);
  expect((await first.waiting())["crm/10m"]).toBeLessThan(PARKED["crm/10m"]);
  await first.stop();
  await expect.poll(second.waiting, TIMEOUT).toEqual(PARKED);
  await second.stop();
}, 240_000);

test("with Kafka away the counts are gone and said to be; they are never 0, and come back", async () => {
  const process = await startProcess();
  await expect.poll(process.waiting, TIMEOUT).toEqual(PARKED);
  await broker.kill();
  proxy.cut();
  const seen = new Set<string>();
  const watched = async () => {
    const waiting = await process.waiting();
    seen.add(JSON.stringify(waiting));
    return waiting;
  };
  await expect.poll(watched, TIMEOUT).toEqual({});
  expect(Object.values(await process.unknown()).every((count) => count > 0)).toBe(true);
  for (const each of seen) {
    for (const count of Object.values(JSON.parse(each) as Record<string, number>)) {
      expect(count).toBeGreaterThan(0);
    }
  }
  await broker.restart();
  await expect.poll(process.waiting, TIMEOUT).toEqual(PARKED);
  expect(await process.unknown()).toEqual({ "10m": 0, "60m": 0 });
  await process.stop();
}, 300_000);

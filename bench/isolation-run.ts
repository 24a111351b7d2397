/**
 * One run of `bench isolation`: Switchyard in one process with many destinations, calls at an even
 * rate, and how long each took from its append to `calls` until the receiver had it.
 *
 * The broker stamps the append (`LogAppendTime`), the receiver the arrival, by the same clock. Only
 * healthy destinations are at the receiver, so that what it notes is theirs alone.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { OutgoingRecord } from "../src/domain/record.ts";
import type { Kafka } from "../src/kafka/port.ts";
import { benchKafka, createTopics, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import { type Program, startProgram, type WebhookSetting } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { type Sickness, startSickServer } from "./sick-server.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const STEP_MS = 10;
const STALLED_MS = 60_000;
const READ_BYTES = 1_024 * 1_024;
const WARM_UP_MS = 2_000;
/** Each call goes to so many destinations, in turns over all of them. */
const COPIES = 10;
/** Short ones, so that what was refused comes back within the run. */
const DELAYS = ["2s", "5s", "10s"];

export interface IsolationSetting {
  readonly destinations: number;
  /** What the last destination's endpoint is like. */
  readonly health: Sickness | "healthy";
}

export interface IsolationLoad {
  readonly callsPerSecond: number;
  readonly seconds: number;
}

export interface IsolationFigures {
  /** Of the healthy destinations' deliveries, in milliseconds and in no order. */
  readonly latencies: readonly number[];
  /** Of Switchyard's process, for each 1,000 of all healthy deliveries, the warm-up's included. */
  readonly cpuMsPerThousand: number;
}

interface Bench {
  readonly program: Program;
  readonly kafka: Kafka;
  readonly callsTopic: string;
  readonly receiver: Receiver;
}

export function runIsolation(
  brokers: string,
  setting: IsolationSetting,
  { callsPerSecond, seconds }: IsolationLoad,
): Promise<IsolationFigures> {
  const { destinations, health } = setting;
  return withProgram(brokers, setting, async ({ program, kafka, callsTopic, receiver }) => {
    const cpuBefore = await program.metric("process_cpu_seconds_total");
    const calls = Math.floor((callsPerSecond * (seconds * 1_000 + WARM_UP_MS)) / 1_000);
    await post(kafka, calls, callsPerSecond, (number) => call(callsTopic, number, destinations));
    const expected =
      calls * COPIES - (health === "healthy" ? 0 : copiesToLast(calls, destinations));
    await untilCount(receiver, expected);
    const cpuS = (await program.metric("process_cpu_seconds_total")) - cpuBefore;
    const appended = await readAppends(kafka, callsTopic);
    let fromMs = Number.POSITIVE_INFINITY;
    for (const atMs of appended.values()) fromMs = Math.min(fromMs, atMs + WARM_UP_MS);
    const latencies = (await receiver.journal()).flatMap(([messageId, atMs]) => {
      const appendedAtMs = appended.get(messageId) ?? Number.NaN;
      return appendedAtMs < fromMs ? [] : [atMs - appendedAtMs];
    });
    return { latencies, cpuMsPerThousand: (cpuS * 1e6) / expected };
  });
}

/** Calls a second that one process delivers when all are there at once. */
export function measureCapacity(
  brokers: string,
  destinations: number,
  calls: number,
): Promise<number> {
  const setting = { destinations, health: "healthy" } as const;
  return withProgram(brokers, setting, async ({ kafka, callsTopic, receiver }) => {
    const producer = kafka.producer();
    await fill(producer, calls, (number) => call(callsTopic, number, destinations));
    // Before that, code runs for the first time.
    const startedAtMs = await untilCount(receiver, (calls * COPIES) / 4);
    const before = await receiver.count();
    const endedAtMs = await untilCount(receiver, calls * COPIES);
    return ((calls - before / COPIES) * 1_000) / (endedAtMs - startedAtMs);
  });
}

async function withProgram<Result>(
  brokers: string,
  { destinations, health }: IsolationSetting,
  measure: (bench: Bench) => Promise<Result>,
): Promise<Result> {
  const topicPrefix = newPrefix();
  const callsTopic = `${topicPrefix}calls`;
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [callsTopic], PARTITIONS);
  await kafka.admin.alterConfig(callsTopic, { "message.timestamp.type": "LogAppendTime" });
  using receiver = await startReceiver(0, { journal: true });
  using sick = health === "healthy" ? null : await startSickServer(health);
  const healthyUrl = `http://127.0.0.1:${receiver.port}/`;
  const settings = Array.from({ length: destinations }, (_, index): WebhookSetting => {
    const isLast = index === destinations - 1;
    return { id: idOf(index), url: isLast && sick !== null ? sick.url : healthyUrl };
  });
  const stages = ["route", "deliver", "delay"];
  const options = { brokers, topicPrefix, destinations: settings, stages, delays: DELAYS };
  try {
    const program = await startProgram(options);
    try {
      return await measure({ program, kafka, callsTopic, receiver });
    } finally {
      await program.stop();
    }
  } finally {
    await kafka.close();
    await deleteTopics(brokers, topicPrefix);
  }
}

function idOf(index: number): string {
  return `d${index + 1}`;
}

function indicesOf(number: number, destinations: number): readonly number[] {
  return Array.from({ length: COPIES }, (_, copy) => (number * COPIES + copy) % destinations);
}

/** A call that names the destinations it goes to. */
function call(topic: string, number: number, destinations: number): OutgoingRecord {
  const { key, value } = benchCall(number, "all");
  const named = indicesOf(number, destinations).map((index) => [idOf(index), true] as const);
  const integrations = { All: false, ...Object.fromEntries(named) };
  const text = JSON.stringify({ ...(JSON.parse(value) as object), integrations });
  return { topic, key: Buffer.from(key), value: Buffer.from(text), headers: [] };
}

function copiesToLast(calls: number, destinations: number): number {
  let copies = 0;
  for (let number = 0; number < calls; number += 1) {
    if (indicesOf(number, destinations).includes(destinations - 1)) copies += 1;
  }
  return copies;
}

/** Writes calls at an even rate. */
export async function post(
  kafka: Kafka,
  calls: number,
  perSecond: number,
  record: (number: number) => OutgoingRecord,
): Promise<void> {
  const producer = kafka.producer();
  const sends: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let posted = 0; posted < calls; ) {
    const elapsedMs = performance.now() - startedAtMs;
    const wanted = Math.min(calls, Math.floor((elapsedMs * perSecond) / 1_000));
    const from = posted;
    const step = Array.from({ length: wanted - from }, (_, at) => record(from + at));
    if (step.length > 0) sends.push(producer.send(step));
    posted = wanted;
    await sleep(STEP_MS);
  }
  await Promise.all(sends);
}

/** Resolves with the time at which the receiver has answered so many. */
export async function untilCount(receiver: Receiver, wanted: number): Promise<number> {
  const untilMs = Date.now() + STALLED_MS;
  for (let count = 0; ; ) {
    count = await receiver.count();
    if (count >= wanted) return performance.now();
    if (Date.now() > untilMs) throw new Error(`the receiver has had ${count} of ${wanted}`);
    await sleep(STEP_MS);
  }
}

/** When the broker appended each record, by the call's message id. */
export async function readAppends(
  kafka: Kafka,
  topic: string,
): Promise<ReadonlyMap<string, number>> {
  const appended = new Map<string, number>();
  const { signal } = new AbortController();
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    const range = { topic, partition, from: first, to: end, bytesMax: READ_BYTES, signal };
    for await (const records of kafka.read(range)) {
      for (const { timestampMs, value } of records) {
        const { messageId } = JSON.parse(`${value}`) as { messageId: string };
        appended.set(messageId, timestampMs);
      }
    }
  }
  return appended;
}

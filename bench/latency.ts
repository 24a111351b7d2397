/**
 * `bench latency`: how long an idle pipeline takes from a call's append to `calls` until its
 * webhook is at the receiver; all stages in one process, and each in its own.
 *
 * The broker stamps the append (`LogAppendTime`), the receiver the arrival; both run on this
 * machine and so by the same clock. Goal: median 100 ms, p99 300 ms.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { benchKafka, createTopics, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { markdown, quantile } from "./measure.ts";
import { type Program, startProgram } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const CALLS = 200;
const SPACED_MS = 100;
/** The first ones find code that has never run and connections that do not stand. */
const WARM_UP = 20;
const PARTITIONS = 3;
const LAYOUTS = [
  { title: "one process", processes: ["route,deliver,delay"] },
  { title: "three processes", processes: ["route", "deliver", "delay"] },
] as const;

export async function benchLatency(brokers: string): Promise<string> {
  const rows: string[][] = [];
  for (const { title, processes } of LAYOUTS) {
    process.stderr.write(`  ${title}: ${CALLS} calls, one every ${SPACED_MS} ms\n`);
    const latencies = (await measureLayout(brokers, processes)).slice(WARM_UP);
    const figures = [0.5, 0.9, 0.99, 1].map((share) => quantile(latencies, share).toFixed(0));
    rows.push([title, `${latencies.length}`, ...figures]);
  }
  return markdown(["stages in", "calls", "median ms", "p90 ms", "p99 ms", "max ms"], rows);
}

async function measureLayout(brokers: string, processes: readonly string[]): Promise<number[]> {
  const topicPrefix = newPrefix();
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [`${topicPrefix}calls`], PARTITIONS);
  await kafka.admin.alterConfig(`${topicPrefix}calls`, {
    "message.timestamp.type": "LogAppendTime",
  });
  await kafka.close();
  using receiver = await startReceiver(0, { journal: true });
  const url = `http://127.0.0.1:${receiver.port}/`;
  const programs: Program[] = [];
  try {
    for (const stages of processes) {
      const destinations = [{ id: "d1", url }];
      const options = { brokers, topicPrefix, destinations, stages: stages.split(",") };
      programs.push(await startProgram(options));
    }
    return await post(brokers, `${topicPrefix}calls`, receiver);
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
    await deleteTopics(brokers, topicPrefix);
  }
}

/** Latencies in the order of the calls. */
async function post(brokers: string, topic: string, receiver: Receiver): Promise<number[]> {
  const kafka = benchKafka(brokers);
  const producer = kafka.producer();
  for (let number = 0; number < WARM_UP + CALLS; number += 1) {
    const { key, value } = benchCall(number, "all");
    await producer.send([{ topic, key: Buffer.from(key), value: Buffer.from(value), headers: [] }]);
    await sleep(SPACED_MS);
  }
  const arrived = new Map<string, number>();
  while (arrived.size < WARM_UP + CALLS) {
    for (const [messageId, atMs] of await receiver.journal()) arrived.set(messageId, atMs);
    await sleep(SPACED_MS);
  }
  const maxBytes = 1_024 * 1_024;
  const { signal } = new AbortController();
  const latencies: [number: number, ms: number][] = [];
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    for await (const records of kafka.read({
      topic,
      partition,
      from: first,
      to: end,
      maxBytes,
      signal,
    })) {
      for (const { timestampMs, value } of records) {
        const { messageId } = JSON.parse(`${value}`) as { messageId: string };
        const number = Number(messageId.slice(messageId.lastIndexOf("-") + 1));
        latencies.push([number, (arrived.get(messageId) ?? Number.NaN) - timestampMs]);
      }
    }
  }
  await producer.close(1_000);
  await kafka.close();
  return latencies.sort(([one], [other]) => one - other).map(([, ms]) => ms);
}

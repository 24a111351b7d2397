/**
 * `bench deliver-memory`: memory of one process with 100 destinations, one of which has a backlog
 * of ten million records, while the others get a few at a time.
 *
 * The backlog's endpoint is one that answers at once, then one that takes 200 ms, so that what is
 * read ahead waits in memory, then one that answers 503 to everything. Goal: at most 400 MB.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { DestinationId } from "../src/domain/ids.ts";
import { topicNames } from "../src/domain/topics.ts";
import type { Producer } from "../src/kafka/port.ts";
import { benchKafka, createTopics, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { markdown } from "./measure.ts";
import { type Program, startProgram } from "./program.ts";
import { type Receiver, type ReceiverOptions, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const DESTINATIONS = 100;
const STEP_MS = 500;

interface Endpoint extends ReceiverOptions {
  readonly title: string;
  readonly delayMs: number;
}

const ENDPOINTS: readonly Endpoint[] = [
  { title: "answers at once", delayMs: 0 },
  { title: "takes 200 ms", delayMs: 200 },
  { title: "503 to everything", delayMs: 0, failEvery: 1 },
];

export async function benchDeliverMemory(
  brokers: string,
  backlog: number,
  seconds: number,
): Promise<string> {
  const topics = topicNames(newPrefix());
  const ids = Array.from({ length: DESTINATIONS }, (_, index) => `d${index + 1}`);
  const [busy = "", ...others] = ids.map((id) => topics.deliveries(id as DestinationId));
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [busy, ...others], PARTITIONS);
  const producer = kafka.producer();
  // Made once: ten million times they would take longer than writing them.
  const records = Array.from({ length: 1_000 }, (_, number) => benchDelivery(busy, 0, number));
  const sample = benchDelivery(busy, 0, 0);
  await fill(producer, backlog, (number) => records[number % records.length] ?? sample);
  using healthy = await startReceiver();
  const rows: (readonly string[])[] = [];
  try {
    for (const endpoint of ENDPOINTS) {
      using receiver = await startReceiver(endpoint);
      const destinations = ids.map((id, index) => ({ id, url: urlOf(index, receiver, healthy) }));
      const stages = ["route", "deliver", "delay"];
      const program = await startProgram({
        brokers,
        topicPrefix: topics.prefix,
        destinations,
        stages,
      });
      const startedAtMs = performance.now();
      const most = await watch(program, producer, others, seconds);
      const perSecond = ((await receiver.count()) * 1_000) / (performance.now() - startedAtMs);
      await program.stop();
      rows.push([endpoint.title, most.toFixed(0), perSecond.toFixed(0)]);
    }
  } finally {
    await kafka.close();
    await deleteTopics(brokers, topics.prefix);
  }
  const header = ["endpoint of the backlog", "most MB", "requests to it / s"];
  return (
    `${markdown(header, rows)}\n\n${DESTINATIONS} destinations, a backlog of ${backlog} records ` +
    `of 1 KB on one, ${seconds} s each. Goal: at most 400 MB.`
  );
}

function urlOf(index: number, receiver: Receiver, healthy: Receiver): string {
  return `http://127.0.0.1:${(index === 0 ? receiver : healthy).port}/`;
}

/** Gives each other destination a record at a time. Resolves with the most memory seen, in MB. */
async function watch(
  program: Program,
  producer: Producer,
  others: readonly string[],
  seconds: number,
): Promise<number> {
  let most = 0;
  const endAtMs = performance.now() + seconds * 1_000;
  for (let number = 0; performance.now() < endAtMs; number += 1) {
    await producer.send(others.map((topic, at) => benchDelivery(topic, at + 1, number)));
    await sleep(STEP_MS);
    most = Math.max(most, (await program.metric("process_resident_memory_bytes")) / 2 ** 20);
  }
  return most;
}

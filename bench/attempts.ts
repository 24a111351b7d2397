/**
 * `bench attempts`: deliver at full speed, without the topic of attempts and with it. All records
 * are written and acknowledged while the next requests are made, by the process that is measured.
 *
 * The ratio is to the first row; the goal is at most 1.05. A destination here takes nothing but the
 * time of its answer, so that what is written weighs as much as it can.
 */

import {
  benchKafka,
  createTopics,
  deleteTopics,
  fill,
  forgetGroups,
  newPrefix,
} from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { type Contestant, costTable, measureInTurns, summarise } from "./measure.ts";
import { startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const IN_FLIGHT = 64;
const WARM_UP = 60_000;
const REQUESTS = 60_000;

export async function benchAttempts(brokers: string, rounds: number): Promise<string> {
  const prefix = newPrefix();
  try {
    const topic = await prepare(brokers, prefix);
    using receiver = await startReceiver(0, { atOnce: WARM_UP });
    const url = `http://127.0.0.1:${receiver.port}/d1`;
    const work = [`${IN_FLIGHT}`, `${REQUESTS}`, `${WARM_UP}`, "warn", url];
    const argv = ["bench/deliver-switchyard.ts", brokers, prefix, ...work];
    const contestants: Contestant[] = [
      { name: "no attempts topic", argv },
      { name: "attempts topic", argv, env: { BENCH_ATTEMPTS: "1" } },
    ];
    const results = await measureInTurns(contestants, rounds, async () => {
      await receiver.reset();
      await forgetGroups(brokers, [[`${prefix}deliver.d1`, topic]]);
    });
    const rows = contestants.map(({ name }) => summarise(name, results.get(name) ?? []));
    const table = costTable("deliver", rows);
    const perRun = (await written(brokers, `${prefix}attempts`)) / Math.max(1, rounds);
    return `${table}\n\nRecords of attempts that a run wrote: ${perRun.toFixed(0)}.`;
  } finally {
    await deleteTopics(brokers, prefix);
  }
}

/** Of the deliveries. */
async function prepare(brokers: string, prefix: string): Promise<string> {
  const kafka = benchKafka(brokers);
  const topic = `${prefix}deliveries.d1`;
  const others = [`${prefix}delays.1s`, `${prefix}dead-letters`, `${prefix}attempts`];
  await createTopics(kafka, [topic, ...others], PARTITIONS);
  await createTopics(kafka, [`${prefix}retries.d1`], 1);
  const producer = kafka.producer();
  await fill(producer, WARM_UP + REQUESTS, (number) => benchDelivery(topic, 0, number));
  await producer.close(10_000);
  await kafka.close();
  return topic;
}

async function written(brokers: string, topic: string): Promise<number> {
  const kafka = benchKafka(brokers);
  const offsets = await kafka.admin.offsets(topic);
  await kafka.close();
  return offsets.reduce((sum, { first, end }) => sum + end - first, 0);
}

/**
 * `bench isolation-backlog`: whether one destination's backlog delays another's single records.
 *
 * Calls for the second destination come one at a time, before and while the first one works off its
 * backlog as fast as it can in the same process. A record that stood behind the backlog would take
 * as long as that; what is left is that both share a core.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { DestinationId } from "../src/domain/ids.ts";
import { topicNames } from "../src/domain/topics.ts";
import type { Kafka } from "../src/kafka/port.ts";
import { benchKafka, createTopics, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { readAppends, untilCount } from "./isolation-run.ts";
import { markdown, quantile } from "./measure.ts";
import { startProgram } from "./program.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const CONCURRENCY = 64;
const SINGLES = 100;
const SPACED_MS = 100;
const WARM_UP = 10;

export async function benchIsolationBacklog(brokers: string, backlog: number): Promise<string> {
  const topics = topicNames(newPrefix());
  const [busy, single] = ["d1", "d2"].map((id) => topics.deliveries(id as DestinationId));
  if (busy === undefined || single === undefined) throw new Error("two destinations are needed");
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [busy, single], PARTITIONS);
  await kafka.admin.alterConfig(single, { "message.timestamp.type": "LogAppendTime" });
  using busyReceiver = await startReceiver();
  using singleReceiver = await startReceiver({ journal: true });
  const program = await startProgram({
    brokers,
    topicPrefix: topics.prefix,
    destinations: [busyReceiver, singleReceiver].map(({ port }, index) => ({
      id: `d${index + 1}`,
      url: `http://127.0.0.1:${port}/`,
      concurrency: CONCURRENCY,
    })),
    stages: ["route", "deliver", "delay"],
  });
  try {
    const alone = await postSingles(kafka, single, singleReceiver, 0);
    const producer = kafka.producer();
    const filling = fill(producer, backlog, (number) => benchDelivery(busy, 0, number));
    await untilCount(busyReceiver, 1);
    await filling;
    const before = await busyReceiver.count();
    const startedAtMs = performance.now();
    const beside = await postSingles(kafka, single, singleReceiver, WARM_UP + SINGLES);
    const after = await busyReceiver.count();
    const perSecond = ((after - before) * 1_000) / (performance.now() - startedAtMs);
    const header = ["the other destination", "records", "median ms", "p99 ms", "max ms"];
    const rows = [row("idle", alone), row(`has a backlog of ${backlog - before}`, beside)];
    return (
      `${markdown(header, rows)}\n\nThe backlog was worked off at ${perSecond.toFixed(0)} ` +
      `deliveries a second meanwhile; ${backlog - after} were left at the end.`
    );
  } finally {
    await program.stop();
    await kafka.close();
    await deleteTopics(brokers, topics.prefix);
  }
}

function row(title: string, latencies: readonly number[]): readonly string[] {
  const figures = [0.5, 0.99, 1].map((share) => quantile(latencies, share).toFixed(1));
  return [title, `${latencies.length}`, ...figures];
}

/** Latencies from append to receipt, without those of the warm-up. */
async function postSingles(
  kafka: Kafka,
  topic: string,
  receiver: Receiver,
  from: number,
): Promise<readonly number[]> {
  const producer = kafka.producer();
  const numbers = Array.from({ length: WARM_UP + SINGLES }, (_, at) => from + at);
  for (const number of numbers) {
    await producer.send([benchDelivery(topic, 1, number)]);
    await sleep(SPACED_MS);
  }
  await untilCount(receiver, from + numbers.length);
  const appended = await readAppends(kafka, topic);
  const arrived = new Map(await receiver.journal());
  return numbers.slice(WARM_UP).map((number) => {
    const messageId = `bench-${number}`;
    return (arrived.get(messageId) ?? Number.NaN) - (appended.get(messageId) ?? Number.NaN);
  });
}

/**
 * `bench deliver`: signed webhooks of 1 KB calls to keep-alive receivers in processes of their own,
 * against the same requests by `undici.request` without Kafka and without Switchyard.
 *
 * The ratio is the ceiling's CPU per request over ours: larger is better, 1 would mean that Kafka
 * and Switchyard cost nothing. The goal is at least 0.9 of `undici.request` as people run it, at log
 * level warn; at info there is a line of the log for each attempt. A second ceiling has the flags
 * that we start V8 with (decision 0007), which help it as well. Decision 0010 has what slower
 * receivers and ten destinations gave.
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
import { type Contestant, type Measured, markdown, measureInTurns, summarise } from "./measure.ts";
import { profileTable } from "./profile.ts";
import { startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const IN_FLIGHT = 64;
/** V8 still compiles after 20,000. A process pays that once, and then runs for weeks. */
const WARM_UP = 60_000;
const REQUESTS = 60_000;

export async function benchDeliver(brokers: string, rounds: number): Promise<string> {
  const prefix = newPrefix();
  const topic = `${prefix}deliveries.d1`;
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [topic, `${prefix}delays.1s`, `${prefix}dead-letters`], PARTITIONS);
  await createTopics(kafka, [`${prefix}retries.d1`], 1);
  const producer = kafka.producer();
  await fill(producer, WARM_UP + REQUESTS, (number) => benchDelivery(topic, 0, number));
  await producer.close(10_000);
  await kafka.close();

  using receiver = await startReceiver();
  const url = `http://127.0.0.1:${receiver.port}/d1`;
  const work = [`${IN_FLIGHT}`, `${REQUESTS}`, `${WARM_UP}`];
  const ours = (level: string): Contestant => ({
    name: `Switchyard, log level ${level}`,
    argv: ["bench/deliver-switchyard.ts", brokers, prefix, ...work, level, url],
  });
  const ceiling = { name: "undici.request", argv: ["bench/deliver-ceiling.ts", ...work, url] };
  const flagged = { ...ceiling, name: "undici.request with our V8 flags" };
  const warn = ours("warn");
  const contestants: Contestant[] = [{ ...ceiling, nodeFlags: [] }, flagged, warn, ours("info")];
  try {
    const reset = async () => {
      await receiver.reset();
      await forgetGroups(brokers, [[`${prefix}deliver.d1`, topic]]);
    };
    const results = await measureInTurns(contestants, rounds, reset);
    const profile = await profileTable([flagged, warn], reset);
    return `${table(contestants, results)}\n\nWhere it goes:\n\n${profile}`;
  } finally {
    await deleteTopics(brokers, prefix);
  }
}

function table(
  contestants: readonly Contestant[],
  results: ReadonlyMap<string, readonly Measured[]>,
): string {
  const summaries = contestants.map(({ name }) => summarise(name, results.get(name) ?? []));
  const ratio = (to: number, cpuMsPerThousand: number) =>
    ((summaries[to]?.cpuMsPerThousand ?? Number.NaN) / cpuMsPerThousand).toFixed(2);
  return markdown(
    [
      ...["destinations", "receiver", "contestant", "CPU ms / 1,000"],
      ...["ratio", "ratio to flags", "requests / s", "peak MB"],
    ],
    summaries.map(({ name, cpuMsPerThousand, unitsPerSecond, rssMaxMb }) => [
      ...["1", "0 ms", name, cpuMsPerThousand.toFixed(1)],
      ...[ratio(0, cpuMsPerThousand), ratio(1, cpuMsPerThousand)],
      ...[unitsPerSecond.toFixed(0), `${rssMaxMb}`],
    ]),
  );
}

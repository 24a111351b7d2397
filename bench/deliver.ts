/**
 * `bench deliver`: signed webhooks of 1 KB calls to keep-alive receivers in processes of their own,
 * against the same requests by `undici.request` without Kafka and without Switchyard.
 *
 * The ratio is the ceiling's CPU per request over ours: larger is better, 1 would mean that Kafka
 * and Switchyard cost nothing. The goal is at least 0.9 of `undici.request` as people run it, at log
 * level warn; at info there is a line of the log for each attempt. A second ceiling has the flags
 * that we start V8 with (decision 0007), which help it as well.
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
import { type Contestant, markdown, measureInTurns, summarise } from "./measure.ts";
import { profileTable } from "./profile.ts";
import { startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const IN_FLIGHT = 64;
/**
 * Answered at once whatever the receiver's delay: V8 still compiles after 20,000, and whoever has
 * more code would pay for more of it. A process pays that once, and then runs for weeks.
 */
const WARM_UP = 60_000;
/** Measured ones, at full speed. */
const REQUESTS = 60_000;
/**
 * A receiver that takes longer gets so many seconds at its own pace which are not measured either,
 * in which V8 clears away what full speed has left: 10 to 18 s later it collects the whole heap
 * once, which a receiver of 200 ms has few requests to share.
 */
const SETTLING_S = 25;
const SETTLING_MAX = 100_000;
const PACED_S = 15;

export interface DeliverSetting {
  readonly destinations: number;
  readonly receiverDelayMs: number;
}

export async function benchDeliver(
  brokers: string,
  settings: readonly DeliverSetting[],
  rounds: number,
): Promise<string> {
  const rows: string[][] = [];
  let profile = "";
  for (const [index, setting] of settings.entries()) {
    const measured = await measureSetting(brokers, setting, rounds, index === 0);
    rows.push(...measured.rows);
    profile += measured.profile;
  }
  const table = markdown(
    [
      "destinations",
      "receiver",
      "contestant",
      "CPU ms / 1,000",
      "ratio",
      "ratio to flags",
      "requests / s",
      "peak MB",
    ],
    rows,
  );
  return `${table}\n\nWhere it goes, in the first of these settings:\n\n${profile}`;
}

async function measureSetting(
  brokers: string,
  { destinations, receiverDelayMs }: DeliverSetting,
  rounds: number,
  isProfiled: boolean,
): Promise<{ readonly rows: string[][]; readonly profile: string }> {
  const prefix = newPrefix();
  const indices = Array.from({ length: destinations }, (_, index) => index);
  const topicOf = (index: number) => `${prefix}deliveries.d${index + 1}`;
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [...indices.map(topicOf), `${prefix}delays.1s`], PARTITIONS);
  await createTopics(kafka, [`${prefix}dead-letters`], PARTITIONS);
  const retries = indices.map((index) => `${prefix}retries.d${index + 1}`);
  await createTopics(kafka, retries, 1);
  const producer = kafka.producer();
  const perSecond = (IN_FLIGHT * destinations * 1_000) / receiverDelayMs;
  const requests = Math.min(REQUESTS, PACED_S * perSecond);
  const settling = receiverDelayMs === 0 ? 0 : Math.min(SETTLING_MAX, SETTLING_S * perSecond);
  const before = WARM_UP + settling;
  await fill(producer, before + requests, (number) =>
    benchDelivery(topicOf(number % destinations), number % destinations, number),
  );
  await producer.close(10_000);
  await kafka.close();

  using receiver = await startReceiver(receiverDelayMs, { atOnce: WARM_UP / destinations });
  const urls = indices.map((index) => `http://127.0.0.1:${receiver.port}/d${index + 1}`);
  const work = [`${IN_FLIGHT}`, `${requests}`, `${before}`];
  const ours = (level: string): Contestant => ({
    name: `Switchyard, log level ${level}`,
    argv: ["bench/deliver-switchyard.ts", brokers, prefix, ...work, level, ...urls],
  });
  const ceiling = { name: "undici.request", argv: ["bench/deliver-ceiling.ts", ...work, ...urls] };
  const flagged = { ...ceiling, name: "undici.request with our V8 flags" };
  const warn = ours("warn");
  const contestants: Contestant[] = [{ ...ceiling, nodeFlags: [] }, flagged, warn, ours("info")];
  const groups = indices.map(
    (index) => [`${prefix}deliver.d${index + 1}`, topicOf(index)] as const,
  );
  try {
    const reset = async () => {
      await receiver.reset();
      await forgetGroups(brokers, groups);
    };
    const results = await measureInTurns(contestants, rounds, reset);
    const profile = isProfiled ? await profileTable([flagged, warn], reset) : "";
    const summaries = contestants.map(({ name }) => summarise(name, results.get(name) ?? []));
    const ratio = (to: number, cpuMsPerThousand: number) =>
      ((summaries[to]?.cpuMsPerThousand ?? Number.NaN) / cpuMsPerThousand).toFixed(2);
    const rows = summaries.map(({ name, cpuMsPerThousand, unitsPerSecond, rssMaxMb }) => [
      `${destinations}`,
      `${receiverDelayMs} ms`,
      name,
      cpuMsPerThousand.toFixed(1),
      ratio(0, cpuMsPerThousand),
      ratio(1, cpuMsPerThousand),
      unitsPerSecond.toFixed(0),
      `${rssMaxMb}`,
    ]);
    return { rows, profile };
  } finally {
    await deleteTopics(brokers, prefix);
  }
}

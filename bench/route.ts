/**
 * `bench route`: calls of 1 KB routed to five destinations, (a) each to all of them, (b) each to two
 * on average, against a plain kafkajs loop that makes the same copies.
 *
 * Units are copies for both, so that CPU per call is CPU per copy times copies per call. The ratio
 * is ours over the loop's: smaller is better, the goal in (a) is at most 0.45.
 */

import {
  benchKafka,
  createTopics,
  deleteTopics,
  fill,
  forgetGroups,
  newPrefix,
} from "./bench-kafka.ts";
import { type Contestant, markdown, measureInTurns, summarise } from "./measure.ts";
import { benchCall, DESTINATIONS } from "./route-work.ts";

const PARTITIONS = 3;
const SPREADS = [
  { spread: "all", title: "(a) all five", copiesPerCall: 5 },
  { spread: "two", title: "(b) two on average", copiesPerCall: 2 },
] as const;

export async function benchRoute(
  brokers: string,
  { calls, rounds }: { readonly calls: number; readonly rounds: number },
): Promise<string> {
  const rows: string[][] = [];
  for (const setting of SPREADS) {
    const prefix = newPrefix();
    try {
      rows.push(...(await measureSpread(brokers, prefix, setting, calls, rounds)));
    } finally {
      await deleteTopics(brokers, prefix);
    }
  }
  return markdown(
    ["calls go to", "contestant", "CPU ms / 1,000 calls", "ratio", "calls / s", "peak MB"],
    rows,
  );
}

async function measureSpread(
  brokers: string,
  prefix: string,
  { spread, title, copiesPerCall }: (typeof SPREADS)[number],
  calls: number,
  rounds: number,
): Promise<string[][]> {
  const topics = await prepare(brokers, prefix, calls, spread);
  const names = { loop: "plain kafkajs loop", ours: "Switchyard route" };
  const copies = calls * copiesPerCall;
  const warmUp = Math.floor(copies / 4);
  const contestants: Contestant[] = [
    {
      name: names.loop,
      argv: ["bench/route-yardstick.ts", brokers, `${copies - warmUp}`, `${warmUp}`, ...topics],
    },
    {
      name: names.ours,
      argv: ["bench/route-switchyard.ts", brokers, prefix, `${copies - warmUp}`, `${warmUp}`],
    },
  ];
  // A consumer group starts where it left off: every turn has to begin with a new one.
  const results = await measureInTurns(contestants, rounds, () =>
    forgetGroups(brokers, [[`${prefix}route`, `${prefix}calls`]]),
  );
  const loop = summarise(names.loop, results.get(names.loop) ?? []);
  const own = summarise(names.ours, results.get(names.ours) ?? []);
  return [loop, own].map(({ name, cpuMsPerThousand, unitsPerSecond, rssMaxMb }) => [
    title,
    name,
    (cpuMsPerThousand * copiesPerCall).toFixed(1),
    (cpuMsPerThousand / loop.cpuMsPerThousand).toFixed(2),
    (unitsPerSecond / copiesPerCall).toFixed(0),
    `${rssMaxMb}`,
  ]);
}

/** The calls topic and the destinations' topics, in this order. */
async function prepare(
  brokers: string,
  prefix: string,
  calls: number,
  spread: "all" | "two",
): Promise<readonly string[]> {
  const kafka = benchKafka(brokers);
  const topics = [
    `${prefix}calls`,
    ...Array.from({ length: DESTINATIONS }, (_, index) => `${prefix}deliveries.d${index + 1}`),
  ];
  await createTopics(kafka, [...topics, `${prefix}dead-letters`], PARTITIONS);
  const producer = kafka.producer();
  await fill(producer, calls, (number) => {
    const { key, value } = benchCall(number, spread);
    return {
      topic: `${prefix}calls`,
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers: [],
    };
  });
  await producer.close(10_000);
  await kafka.close();
  return topics;
}

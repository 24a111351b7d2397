/**
 * `bench avro`: the same calls as JSON and as Avro, routed to one destination, which is the case in
 * which reading weighs most, and to five.
 *
 * The ratio is to JSON without a registry; the goal is at most 1.3. Deliver reads what route has
 * written: that is JSON in both cases, and costs the same.
 */

import { type BenchForms, benchForms } from "./avro-work.ts";
import {
  benchKafka,
  createTopics,
  deleteTopics,
  fill,
  forgetGroups,
  newPrefix,
} from "./bench-kafka.ts";
import { type Contestant, markdown, measureInTurns, summarise } from "./measure.ts";
import { DESTINATIONS } from "./route-work.ts";

const PARTITIONS = 3;
const FORMS = [
  { name: "JSON, no registry", form: "json", schemas: "" },
  { name: "JSON, with a registry", form: "json", schemas: "schemas" },
  { name: "Avro", form: "avro", schemas: "schemas" },
] as const;

export async function benchAvro(
  brokers: string,
  { calls, rounds }: { readonly calls: number; readonly rounds: number },
): Promise<string> {
  const prefixes = { json: newPrefix(), avro: newPrefix() };
  try {
    for (const form of ["json", "avro"] as const)
      await prepare(brokers, prefixes[form], calls, form);
    const rows = [];
    for (const connected of [1, DESTINATIONS]) {
      rows.push(...(await measure(brokers, prefixes, connected, calls, rounds)));
    }
    return markdown(
      ["destinations", "calls as", "CPU ms / 1,000 calls", "ratio", "calls / s", "peak MB"],
      rows,
    );
  } finally {
    for (const prefix of Object.values(prefixes)) await deleteTopics(brokers, prefix);
  }
}

async function measure(
  brokers: string,
  prefixes: Readonly<Record<keyof Omit<BenchForms, "key">, string>>,
  connected: number,
  calls: number,
  rounds: number,
): Promise<string[][]> {
  const copies = calls * connected;
  const warmUp = Math.floor(copies / 4);
  const contestants = FORMS.map(({ name, form, schemas }): Contestant => {
    const numbers = [`${copies - warmUp}`, `${warmUp}`, `${connected}`];
    return {
      name,
      argv: ["bench/route-switchyard.ts", brokers, prefixes[form], ...numbers, schemas],
    };
  });
  const groups = Object.values(prefixes).map(
    (prefix) => [`${prefix}route`, `${prefix}calls`] as const,
  );
  const results = await measureInTurns(contestants, rounds, () => forgetGroups(brokers, groups));
  const all = FORMS.map(({ name }) => summarise(name, results.get(name) ?? []));
  const least = all[0]?.cpuMsPerThousand ?? Number.NaN;
  return all.map(({ name, cpuMsPerThousand, unitsPerSecond, rssMaxMb }) => [
    `${connected}`,
    name,
    (cpuMsPerThousand * connected).toFixed(1),
    (cpuMsPerThousand / least).toFixed(2),
    (unitsPerSecond / connected).toFixed(0),
    `${rssMaxMb}`,
  ]);
}

async function prepare(
  brokers: string,
  prefix: string,
  calls: number,
  form: "json" | "avro",
): Promise<void> {
  const kafka = benchKafka(brokers);
  const deliveries = Array.from(
    { length: DESTINATIONS },
    (_, at) => `${prefix}deliveries.d${at + 1}`,
  );
  const topics = [`${prefix}calls`, ...deliveries, `${prefix}dead-letters`];
  await createTopics(kafka, topics, PARTITIONS);
  const producer = kafka.producer();
  await fill(producer, calls, (number) => {
    const { key, [form]: value } = benchForms(number);
    return { topic: `${prefix}calls`, key, value, headers: [] };
  });
  await producer.close(10_000);
  await kafka.close();
}

/** What the replacements in kafkajs save, and what reading compressed records costs. */

import { join } from "node:path";

import { type Contestant, markdown, measureInTurns, median, perThousand } from "./measure.ts";

/** What is done, and who does it for us. */
const TASKS = [
  ["produce", "switchyard"],
  ["fan-out", "switchyard"],
  ["consume", "replaced"],
  ["idle", "replaced"],
] as const;
const COMPRESSIONS = { none: "0", lz4: "3", zstd: "4" };

const contestant = (
  task: string,
  kind: string,
  brokers: string,
  compression: string,
): Contestant => ({
  name: `${task} ${kind} ${compression}`,
  argv: [join(import.meta.dirname, "encode-work.ts"), task, kind, brokers, compression],
});

/** Medians of CPU milliseconds per 1,000 records; for idle connections of one run. */
export async function benchEncode(brokers: string, rounds: number): Promise<string> {
  const contestants = TASKS.flatMap(([task, after]) =>
    ["original", after].map((kind) => contestant(task, kind, brokers, "0")),
  );
  for (const type of [COMPRESSIONS.lz4, COMPRESSIONS.zstd]) {
    contestants.push(contestant("consume", "replaced", brokers, type));
  }
  const results = await measureInTurns(contestants, rounds);
  const cpu = (task: string, kind: string, type = "0") =>
    median((results.get(`${task} ${kind} ${type}`) ?? []).map(perThousand));
  const replacements = TASKS.map(([task, kind]) => {
    const [before, after] = [cpu(task, "original"), cpu(task, kind)];
    return [task, before.toFixed(1), after.toFixed(1), (before / after).toFixed(1)];
  });
  const compressions = Object.entries(COMPRESSIONS).map(([name, type]) => [
    name,
    cpu("consume", "replaced", type).toFixed(1),
  ]);
  return [
    markdown(["CPU ms per 1,000 records", "kafkajs", "ours", "ratio"], replacements),
    markdown(["compression", "consume"], compressions),
  ].join("\n\n");
}

/**
 * `bench ingest`: gzipped batches of 1 KB calls over 64 connections, against two ceilings of the same
 * run: a bare node:http server that unpacks, parses and answers, and producing alone.
 *
 * The ratios are those of the lower ceiling: of calls a second, which the clients and the broker on
 * the same machine bound too, and of CPU. Larger is better; the goal is 0.8. What ingest does is the
 * sum of both ceilings' work, and more; `parts` is the CPU of that sum over ours.
 */

import { benchKafka, createTopics, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { type Contestant, markdown, measureInTurns, median, summarise } from "./measure.ts";

const PARTITIONS = 6;
const CONNECTIONS = 64;
const BATCHES = [
  { calls: 20, batches: 6_000 },
  { calls: 100, batches: 1_500 },
] as const;
const NAMES = {
  http: "bare node:http",
  produce: "producing alone",
  ours: "Switchyard ingest",
} as const;

export async function benchIngest(brokers: string, rounds: number): Promise<string> {
  const rows: string[][] = [];
  for (const { calls, batches } of BATCHES) {
    const prefix = newPrefix();
    const kafka = benchKafka(brokers);
    await createTopics(kafka, [`${prefix}calls`], PARTITIONS);
    await kafka.close();
    try {
      rows.push(...(await measureBatches(brokers, `${prefix}calls`, calls, batches, rounds)));
    } finally {
      await deleteTopics(brokers, prefix);
    }
  }
  return markdown(
    [
      "calls a batch",
      "contestant",
      "calls / s",
      "CPU ms / 1,000",
      "p50 ms",
      "p99 ms",
      "calls / s ratio",
      "CPU ratio",
      "parts",
      "peak MB",
    ],
    rows,
  );
}

async function measureBatches(
  brokers: string,
  topic: string,
  calls: number,
  batches: number,
  rounds: number,
): Promise<string[][]> {
  const warmUp = Math.floor(batches / 4);
  const work = [calls, CONNECTIONS, warmUp, batches - warmUp].map(String);
  const kinds = ["http", "produce", "ours"] as const;
  const contestants = kinds.map(
    (kind): Contestant => ({
      name: NAMES[kind],
      argv: ["bench/ingest-server.ts", kind, brokers, topic, ...work],
    }),
  );
  const results = await measureInTurns(contestants, rounds);
  const figures = kinds.map((kind) => {
    const measured = results.get(NAMES[kind]) ?? [];
    const of = (name: string) => median(measured.map(({ extra }) => extra?.[name] ?? Number.NaN));
    return { ...summarise(NAMES[kind], measured), kind, p50Ms: of("p50Ms"), p99Ms: of("p99Ms") };
  });
  const ceilings = figures.filter(({ kind }) => kind !== "ours");
  const speed = Math.min(...ceilings.map(({ unitsPerSecond }) => unitsPerSecond));
  const cpu = Math.max(...ceilings.map(({ cpuMsPerThousand }) => cpuMsPerThousand));
  const parts = ceilings.reduce((sum, { cpuMsPerThousand }) => sum + cpuMsPerThousand, 0);
  return figures.map((figure) => [
    `${calls}`,
    figure.name,
    figure.unitsPerSecond.toFixed(0),
    figure.cpuMsPerThousand.toFixed(1),
    figure.p50Ms.toFixed(1),
    figure.p99Ms.toFixed(1),
    figure.kind === "ours" ? (figure.unitsPerSecond / speed).toFixed(2) : "",
    figure.kind === "ours" ? (cpu / figure.cpuMsPerThousand).toFixed(2) : "",
    figure.kind === "ours" ? (parts / figure.cpuMsPerThousand).toFixed(2) : "",
    `${figure.rssMaxMb}`,
  ]);
}

/**
 * `bench ingest`: sends gzipped batches of 1 KB calls over 64 connections. Compares the stage with two ceilings in the
 * same run: a simple node:http server that decompresses, parses and responds, and producing alone.
 *
 * The ratios compare with the lower ceiling: in calls per second, which the clients and the broker on the same machine
 * also limit, and in CPU. Larger is better; the goal is 0.8. The stage does the work of both ceilings, and more;
 * `parts` is the sum of the ceilings' CPU divided by ours.
 */

import { markdown, measureContestants } from "./measure.ts";
import { Workbench } from "./workbench.ts";

const CONNECTIONS = 64;
const BATCHES = [
  { calls: 20, batches: 6_000 },
  { calls: 100, batches: 1_500 },
] as const;
const OURS = "Switchyard ingest";
const KINDS = [
  { kind: "http", name: "bare node:http" },
  { kind: "produce", name: "producing alone" },
  { kind: "ours", name: OURS },
] as const;

export async function benchIngest(brokers: string, rounds: number): Promise<string> {
  const rows: Readonly<Record<string, string>>[] = [];
  for (const { calls, batches } of BATCHES) {
    rows.push(...(await measureBatches(brokers, calls, batches, rounds)));
  }
  return markdown(rows);
}

async function measureBatches(brokers: string, calls: number, batches: number, rounds: number) {
  await using bench = new Workbench(brokers);
  const topic = bench.topics.calls;
  await bench.create([topic], { partitions: 6 });
  const warmUp = Math.floor(batches / 4);
  const work = [calls, CONNECTIONS, warmUp, batches - warmUp].map(String);
  const contestants = KINDS.map(({ kind, name }) => {
    return { name, argv: ["bench/ingest-server.ts", kind, brokers, topic, ...work] };
  });
  const summaries = await measureContestants(contestants, rounds);
  const ceilings = summaries.filter(({ name }) => name !== OURS);
  const speed = Math.min(...ceilings.map(({ unitsPerSecond }) => unitsPerSecond));
  const cpu = Math.max(...ceilings.map(({ cpuMsPerThousand }) => cpuMsPerThousand));
  const parts = ceilings.reduce((sum, { cpuMsPerThousand }) => sum + cpuMsPerThousand, 0);
  return summaries.map(({ name, unitsPerSecond, cpuMsPerThousand, rssMaxMb, extra }) => {
    const ofOurs = (ratio: number) => (name === OURS ? ratio.toFixed(2) : "");
    return {
      "calls a batch": `${calls}`,
      program: name,
      "calls / s": unitsPerSecond.toFixed(0),
      "CPU ms / 1,000": cpuMsPerThousand.toFixed(1),
      "p50 ms": extra("p50Ms").toFixed(1),
      "p99 ms": extra("p99Ms").toFixed(1),
      "calls / s ratio": ofOurs(unitsPerSecond / speed),
      "CPU ratio": ofOurs(cpu / cpuMsPerThousand),
      parts: ofOurs(parts / cpuMsPerThousand),
      "peak MB": rssMaxMb.toFixed(0),
    };
  });
}

/**
 * `bench ingest-hostile`: how long honest callers wait for their answers, alone and beside four callers
 * who send hostile gzip without pause. In turns on one process of ingest; the goal is a ratio of the
 * p99 below 1.5.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { benchKafka, createTopics, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { markdown, median, NODE_FLAGS } from "./measure.ts";

const SECONDS = 6;
const PARTITIONS = 6;

interface Part {
  readonly child: ChildProcess;
  /** The next line that it prints. */
  readonly line: () => Promise<string>;
}

function part(...argv: readonly string[]): Part {
  const script = "bench/ingest-hostile-part.ts";
  const child = spawn(process.execPath, [...NODE_FLAGS, script, ...argv], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${argv[0]} ended too early`);
    return value;
  };
  return { child, line };
}

interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function honest(port: string): Promise<Latency> {
  const { child, line } = part("honest", port, `${SECONDS}`);
  const ended = once(child, "close");
  const latency = JSON.parse(await line()) as Latency;
  await ended;
  return latency;
}

export async function benchIngestHostile(brokers: string, rounds: number): Promise<string> {
  const prefix = newPrefix();
  const topic = `${prefix}calls`;
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [topic], PARTITIONS);
  await kafka.close();
  const server = part("serve", brokers, topic);
  try {
    const port = await server.line();
    await honest(port);
    const alone: Latency[] = [];
    const beside: Latency[] = [];
    const hostile: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await honest(port));
      const attack = part("attack", port);
      await attack.line();
      beside.push(await honest(port));
      attack.child.kill("SIGTERM");
      hostile.push(Number(await attack.line()) / SECONDS);
    }
    return report(alone, beside, hostile);
  } finally {
    server.child.kill("SIGKILL");
    await deleteTopics(brokers, prefix);
  }
}

function report(alone: Latency[], beside: Latency[], hostile: readonly number[]): string {
  const p50 = (all: readonly Latency[]) => median(all.map(({ p50Ms }) => p50Ms));
  const p99 = (all: readonly Latency[]) => median(all.map(({ p99Ms }) => p99Ms));
  const rows = [
    ["alone", alone, "0", ""],
    [
      "beside four hostile ones",
      beside,
      median(hostile).toFixed(0),
      (p99(beside) / p99(alone)).toFixed(2),
    ],
  ] as const;
  return markdown(
    ["honest callers", "p50 ms", "p99 ms", "hostile requests / s", "p99 ratio"],
    rows.map(([name, all, count, ratio]) => [
      name,
      p50(all).toFixed(1),
      p99(all).toFixed(1),
      count,
      ratio,
    ]),
  );
}

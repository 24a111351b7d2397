/**
 * `bench ingest-hostile`: how long honest callers wait for their answers, alone and beside four callers
 * who send hostile gzip without pause. In turns on one process of ingest; the goal is a ratio of the
 * p99 below 1.5.
 *
 * Honest callers send 100 batches of 20 calls a second. Each hostile caller sends its body again as
 * soon as it is answered, on 1 connection or on 25. All of them share this machine with the server and
 * with Kafka, but an attacker has a machine of its own: hostile callers run under `nice -n 19`, so that
 * the table has what their requests cost the server, and little of what it costs to send them.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { createInterface } from "node:readline";

import { benchKafka, createTopics, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { markdown, median, NODE_FLAGS } from "./measure.ts";

const SECONDS = 6;
const PARTITIONS = 6;
/** Of each hostile caller. */
const CONNECTIONS = [1, 25];
const LEAST_PRIORITY = 19;

interface Part {
  readonly child: ChildProcess;
  /** The next line that it prints. */
  readonly line: () => Promise<string>;
}

function part(...argv: readonly string[]): Part {
  const script = "bench/ingest-hostile-part.ts";
  const child = spawn(process.execPath, [...NODE_FLAGS, script, ...argv], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${argv[0]} ended too early`);
    return value;
  };
  return { child, line };
}

interface Turn {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU of the server meanwhile. */
  readonly cpuMs: number;
  /** Requests of hostile callers that were answered meanwhile. */
  readonly hostile: number;
}

async function honest(server: Part, port: string): Promise<Turn> {
  const before = await cpuMs(server);
  const { child, line } = part("honest", port, `${SECONDS}`);
  const ended = once(child, "close");
  const latency = JSON.parse(await line()) as Pick<Turn, "p50Ms" | "p99Ms">;
  await ended;
  return { ...latency, cpuMs: (await cpuMs(server)) - before, hostile: 0 };
}

async function beside(server: Part, port: string, connections: number): Promise<Turn> {
  const attack = part("attack", port, `${connections}`);
  setPriority(attack.child.pid ?? 0, LEAST_PRIORITY);
  await attack.line();
  const turn = await honest(server, port);
  attack.child.kill("SIGTERM");
  return { ...turn, hostile: Number(await attack.line()) };
}

async function cpuMs({ child, line }: Part): Promise<number> {
  child.stdin?.write("cpu\n");
  for (;;) {
    // Its log comes the same way.
    const [, ms] = /^cpu (.*)$/.exec(await line()) ?? [];
    if (ms !== undefined) return Number(ms);
  }
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
    await honest(server, port);
    const alone: Turn[] = [];
    const attacked = CONNECTIONS.map((connections) => ({ connections, turns: [] as Turn[] }));
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await honest(server, port));
      for (const { connections, turns } of attacked)
        turns.push(await beside(server, port, connections));
    }
    return report(alone, attacked);
  } finally {
    server.child.kill("SIGKILL");
    await deleteTopics(brokers, prefix);
  }
}

interface Attacked {
  readonly connections: number;
  readonly turns: readonly Turn[];
}

function report(alone: readonly Turn[], attacked: readonly Attacked[]): string {
  const of = (turns: readonly Turn[], figure: keyof Turn) =>
    median(turns.map((turn) => turn[figure]));
  const times = (turns: readonly Turn[]) => [
    of(turns, "p50Ms").toFixed(1),
    of(turns, "p99Ms").toFixed(1),
  ];
  const rows = attacked.map(({ connections, turns }) => {
    const count = of(turns, "hostile");
    const more = of(turns, "cpuMs") - of(alone, "cpuMs");
    return [
      `beside four hostile ones, ${connections} connection${connections === 1 ? "" : "s"} each`,
      ...times(turns),
      (count / SECONDS).toFixed(0),
      (more / count).toFixed(2),
      (of(turns, "p99Ms") / of(alone, "p99Ms")).toFixed(2),
    ];
  });
  return markdown(
    [
      "honest callers",
      "p50 ms",
      "p99 ms",
      "hostile requests / s",
      "server's CPU ms for one",
      "p99 ratio",
    ],
    [["alone", ...times(alone), "0", "", ""], ...rows],
  );
}

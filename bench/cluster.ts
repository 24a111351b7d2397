/**
 * `bench cluster`: one process and four on three brokers, with 12 partitions. What a delivery costs, how
 * evenly it is shared, and how long anything waits while processes are replaced.
 *
 *   part             figures
 *   steady           CPU of all processes per 1,000 deliveries; the busiest one's share of the mean
 *   rolling restart  each of four processes gets SIGTERM and is started again, one after the other
 *   SIGKILL          one of four, and nobody starts it again
 *
 * A destination stands still for as long as nothing arrives, while calls come at an even rate. Goals: 1 s
 * in a rolling restart, with nothing repeated; 12 s until the last delivery goes on after a SIGKILL.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { Kafka } from "../src/kafka/port.ts";
import { type LocalCluster, startCluster } from "../tools/kafka/cluster.ts";
import { benchKafka, newPrefix } from "./bench-kafka.ts";
import { post, readAppends, untilCount } from "./isolation-run.ts";
import { markdown } from "./measure.ts";
import { type Program, startProgram } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 12;
const PROCESSES = 4;
const DESTINATIONS = ["near", "far"] as const;
const PER_SECOND = 200;
const STEADY_S = 20;
/** Code runs for the first time, and connections are made. */
const WARM_UP_S = 10;
/** Longer than the session of the killed process. */
const AFTER_KILL_S = 25;
const COLLECT_MS = 500;

interface Bench {
  readonly cluster: LocalCluster;
  readonly kafka: Kafka;
  readonly prefix: string;
  readonly receivers: readonly Receiver[];
  posted: number;
}

interface Waits {
  /** For each destination: longest time without an arrival. */
  readonly stillMs: number;
  /** From the append of a call to its last arrival. */
  readonly longestMs: number;
  readonly repeated: number;
  readonly deliveries: number;
}

export async function benchCluster(): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ log: tell }));
  const kafka = benchKafka(cluster.brokers.join());
  stack.defer(() => kafka.close());
  const receivers = await Promise.all(DESTINATIONS.map(() => startReceiver({ journal: true })));
  for (const receiver of receivers) stack.use(receiver);
  const bench: Bench = { cluster, kafka, prefix: newPrefix(), receivers, posted: 0 };
  const config = { "message.timestamp.type": "LogAppendTime" };
  const calls = {
    name: `${bench.prefix}calls`,
    partitions: PARTITIONS,
    replicationFactor: 3,
    config,
  };
  await kafka.admin.create([calls]);

  const one = [await start(bench)];
  const alone = await steady(bench, one);
  for (const program of one) await program.stop();
  const four: Program[] = [];
  for (let started = 0; started < PROCESSES; started += 1) four.push(await start(bench));
  const shared = await steady(bench, four);
  const rolled = await during(bench, async () => {
    for (const [index, program] of four.entries()) {
      await program.stop();
      four[index] = await start(bench);
    }
  });
  const killed = await during(bench, async () => {
    await four.pop()?.kill();
    await sleep(AFTER_KILL_S * 1_000);
  });
  for (const program of four) await program.stop();
  return text(alone, shared, rolled, killed);
}

function start({ cluster, prefix, receivers }: Bench): Promise<Program> {
  return startProgram({
    brokers: cluster.brokers.join(),
    topicPrefix: prefix,
    partitions: PARTITIONS,
    replicationFactor: 3,
    stages: ["route", "deliver", "delay"],
    destinations: DESTINATIONS.map((id, index) => ({
      id,
      url: `http://127.0.0.1:${receivers[index]?.port}/`,
    })),
  });
}

interface Steady {
  readonly cpuMsPerThousand: number;
  /** Deliveries of the busiest process, as a multiple of the mean. */
  readonly busiest: number;
}

async function steady(bench: Bench, programs: readonly Program[]): Promise<Steady> {
  await flow(bench, WARM_UP_S);
  const requests = () =>
    Promise.all(programs.map((program) => program.metric("switchyard_delivery_requests_total")));
  const [cpuBefore, before] = [cpuOf(programs), await requests()];
  await flow(bench, STEADY_S);
  const [cpuMs, after] = [cpuOf(programs) - cpuBefore, await requests()];
  const shares = after.map((count, index) => count - (before[index] ?? 0));
  const all = shares.reduce((sum, share) => sum + share, 0);
  return {
    cpuMsPerThousand: (cpuMs / all) * 1_000,
    busiest: Math.max(...shares) / (all / shares.length),
  };
}

function cpuOf(programs: readonly Program[]): number {
  return programs.reduce((sum, program) => sum + program.cpuMs(), 0);
}

/** Posts at an even rate, and waits until all has arrived. */
async function flow(bench: Bench, seconds: number): Promise<void> {
  await send(bench, PER_SECOND * seconds);
  await Promise.all(bench.receivers.map((receiver) => untilCount(receiver, bench.posted)));
}

async function send(bench: Bench, count: number): Promise<void> {
  const first = bench.posted;
  bench.posted += count;
  await post(bench.kafka, count, PER_SECOND, (number) => {
    const { key, value } = benchCall(first + number, "all");
    const topic = `${bench.prefix}calls`;
    return { topic, key: Buffer.from(key), value: Buffer.from(value), headers: [] };
  });
}

/** What waits while `act` goes on, with calls before, meanwhile and after. */
async function during(bench: Bench, act: () => Promise<void>): Promise<Waits> {
  const topic = `${bench.prefix}calls`;
  for (const receiver of bench.receivers) await receiver.journal();
  const from = new Map(
    (await bench.kafka.admin.offsets(topic)).map(({ partition, end }) => [partition, end]),
  );
  const first = bench.posted;
  await send(bench, PER_SECOND);
  const acting = { isOver: false };
  const acted = act().finally(() => {
    acting.isOver = true;
  });
  while (!acting.isOver) await send(bench, PER_SECOND);
  await acted;
  await flow(bench, 2);
  const appended = await readAppends(bench.kafka, topic, from);
  const wanted = bench.posted - first;
  const journals = await Promise.all(bench.receivers.map((receiver) => whole(receiver, wanted)));
  return {
    stillMs: Math.max(...journals.map((journal) => longestGap(journal.map(([, atMs]) => atMs)))),
    longestMs: Math.max(...journals.flat().map(([id, atMs]) => atMs - (appended.get(id) ?? atMs))),
    repeated: journals.flat().length - wanted * journals.length,
    deliveries: wanted * journals.length,
  };
}

type Arrivals = Awaited<ReturnType<Receiver["journal"]>>;

/** The arrivals of so many calls, and what came twice. */
async function whole(receiver: Receiver, wanted: number): Promise<Arrivals> {
  const arrivals = [...(await receiver.journal())];
  while (new Set(arrivals.map(([id]) => id)).size < wanted) {
    await sleep(COLLECT_MS);
    arrivals.push(...(await receiver.journal()));
  }
  return arrivals;
}

function longestGap(arrivalsMs: readonly number[]): number {
  const sorted = [...arrivalsMs].sort((a, b) => a - b);
  return Math.max(...sorted.map((atMs, index) => atMs - (sorted[index - 1] ?? atMs)));
}

function text(alone: Steady, shared: Steady, rolled: Waits, killed: Waits): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const steadyRow = (name: string, { cpuMsPerThousand, busiest }: Steady) => [
    name,
    cpuMsPerThousand.toFixed(0),
    (cpuMsPerThousand / alone.cpuMsPerThousand).toFixed(2),
    busiest.toFixed(2),
  ];
  const waitRow = (name: string, { stillMs, longestMs, repeated, deliveries }: Waits) => [
    ...[name, seconds(stillMs), seconds(longestMs)],
    ...[`${repeated}`, `${deliveries}`],
  ];
  const steadyHeader = [
    "processes",
    "CPU ms / 1,000 deliveries",
    "of one process",
    "busiest / mean",
  ];
  const waitHeader = ["four processes", "a destination stood still", "longest wait"];
  return [
    markdown(steadyHeader, [steadyRow("1", alone), steadyRow(`${PROCESSES}`, shared)]),
    "",
    markdown(
      [...waitHeader, "repeated", "deliveries"],
      [waitRow("rolling restart", rolled), waitRow("SIGKILL of one", killed)],
    ),
    "",
    `${DESTINATIONS.length} destinations, ${PARTITIONS} partitions, three brokers with three copies; ` +
      `${PER_SECOND} calls a second, each to every destination. Goals: 1 s and nothing repeated in a ` +
      "rolling restart, 12 s after a SIGKILL.",
  ].join("\n");
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

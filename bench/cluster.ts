/**
 * `bench cluster`: one, two and four processes on three brokers, with 12 partitions. Measures the cost of a delivery,
 * how evenly deliveries are distributed, and how long deliveries wait while processes are replaced.
 *
 *   part             figures
 *   steady           CPU of all processes per 1,000 deliveries; the busiest process compared with the mean
 *   backlog          the same with calls that are written at once
 *   rolling restart  each of four processes gets SIGTERM and is restarted, one after the other
 *   SIGKILL          one of four processes is killed, and is not restarted
 *
 * Calls are written at an even rate, and the longest time without an arrival at a destination is measured. Goals: 1 s
 * in a rolling restart, and no repeated delivery; after a SIGKILL, all deliveries continue within 12 s.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { startCluster } from "../tools/kafka/cluster.ts";
import { markdown } from "./measure.ts";
import { PIPELINE, type Program } from "./program.ts";
import { type Arrival, type Receiver, startReceiver } from "./receiver.ts";
import { report, Workbench } from "./workbench.ts";

const PARTITIONS = 12;
const PROCESSES = [1, 2, 4] as const;
const DESTINATIONS = ["near", "far"] as const;
const PER_SECOND = 200;
const STEADY_S = 20;
const BACKLOG = 30_000;
/** During this time, code runs for the first time, and connections are opened. */
const WARM_UP_S = 10;
/** This is longer than the session of the killed process. */
const AFTER_KILL_S = 25;
const COLLECT_MS = 500;

interface Running {
  readonly bench: Workbench;
  readonly receivers: readonly Receiver[];
}

interface Waits {
  /** For each destination, the longest time without an arrival. */
  readonly stillMs: number;
  /** The longest time from the append of a call to its last arrival. */
  readonly longestMs: number;
  readonly repeated: number;
  readonly deliveries: number;
}

export async function benchCluster(): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ log: report }));
  const bench = stack.use(new Workbench(cluster.brokers.join()));
  const receivers = await Promise.all(DESTINATIONS.map(() => startReceiver({ journal: true })));
  for (const receiver of receivers) stack.use(receiver);
  const running = { bench, receivers };
  const topic = { partitions: PARTITIONS, replicationFactor: 3, isStamped: true };
  await bench.create([bench.topics.calls], topic);

  const four: Program[] = [];
  const costs: Cost[] = [];
  for (const processes of PROCESSES) {
    while (four.length < processes) four.push(await start(running));
    await flow(running, WARM_UP_S);
    const steady = await costOf(running, four, () => flow(running, STEADY_S));
    const backlog = await costOf(running, four, () => backlogOf(running));
    costs.push({ processes, steady, backlog });
  }
  const rolled = await during(running, async () => {
    for (const [index, program] of four.entries()) {
      await program.stop();
      four[index] = await start(running);
    }
  });
  const killed = await during(running, async () => {
    await four.pop()?.kill();
    await sleep(AFTER_KILL_S * 1_000);
  });
  for (const program of four) await program.stop();
  return text(costs, rolled, killed);
}

function start({ bench, receivers }: Running): Promise<Program> {
  return bench.start({
    partitions: PARTITIONS,
    replicationFactor: 3,
    stages: PIPELINE,
    destinations: DESTINATIONS.map((id, index) => ({ id, url: receivers[index]?.url ?? "" })),
  });
}

interface Cost {
  readonly processes: number;
  readonly steady: Share;
  readonly backlog: Share;
}

interface Share {
  readonly cpuMsPerThousand: number;
  /** The deliveries of the busiest process, as a multiple of the mean. */
  readonly busiest: number;
}

async function costOf(
  { bench }: Running,
  programs: readonly Program[],
  act: () => Promise<void>,
): Promise<Share> {
  const requests = () =>
    Promise.all(programs.map((program) => program.metric("switchyard_delivery_requests_total")));
  const [cpuBefore, before] = [cpuOf(programs), await requests()];
  const first = bench.calls;
  await act();
  const [cpuMs, after] = [cpuOf(programs) - cpuBefore, await requests()];
  const shares = after.map((count, index) => count - (before[index] ?? 0));
  const deliveries = (bench.calls - first) * DESTINATIONS.length;
  return {
    cpuMsPerThousand: (cpuMs / deliveries) * 1_000,
    busiest: (Math.max(...shares) * shares.length) / deliveries,
  };
}

function cpuOf(programs: readonly Program[]): number {
  return programs.reduce((sum, program) => sum + program.cpuMs(), 0);
}

/** Posts at an even rate, and waits until everything has arrived. */
async function flow(running: Running, seconds: number): Promise<void> {
  await send(running.bench, PER_SECOND * seconds);
  await arrived(running);
}

async function backlogOf(running: Running): Promise<void> {
  await running.bench.fill(BACKLOG, running.bench.nextCalls(BACKLOG));
  await arrived(running);
}

async function arrived({ bench, receivers }: Running): Promise<void> {
  await Promise.all(receivers.map((receiver) => receiver.untilCount(bench.calls)));
}

function send(bench: Workbench, count: number): Promise<void> {
  return bench.post(count, PER_SECOND, bench.nextCalls(count));
}

/** Measures the waits during `act`, with calls before, during and after it. */
async function during(running: Running, act: () => Promise<void>): Promise<Waits> {
  const { bench, receivers } = running;
  for (const receiver of receivers) await receiver.journal();
  const from = await bench.ends(bench.topics.calls);
  const first = bench.calls;
  await send(bench, PER_SECOND);
  const acting = { isOver: false };
  const acted = act().finally(() => {
    acting.isOver = true;
  });
  while (!acting.isOver) await send(bench, PER_SECOND);
  await acted;
  await flow(running, 2);
  const appended = await bench.appends(bench.topics.calls, from);
  const wanted = bench.calls - first;
  const journals = await Promise.all(receivers.map((receiver) => whole(receiver, wanted)));
  return {
    stillMs: Math.max(...journals.map((journal) => longestGap(journal.map(([, atMs]) => atMs)))),
    longestMs: Math.max(...journals.flat().map(([id, atMs]) => atMs - (appended.get(id) ?? atMs))),
    repeated: journals.flat().length - wanted * journals.length,
    deliveries: wanted * journals.length,
  };
}

/** Returns the arrivals of this many calls, and the calls that arrived twice. */
async function whole(receiver: Receiver, wanted: number): Promise<readonly Arrival[]> {
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

function text(costs: readonly Cost[], rolled: Waits, killed: Waits): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const [alone] = costs;
  const of = (part: "steady" | "backlog", cost: Cost) => ({
    [`${part}: CPU ms / 1,000 deliveries`]: cost[part].cpuMsPerThousand.toFixed(0),
    [`${part}: relative to one`]: (
      cost[part].cpuMsPerThousand / (alone?.[part].cpuMsPerThousand ?? Number.NaN)
    ).toFixed(2),
    [`${part}: busiest / mean`]: cost[part].busiest.toFixed(2),
  });
  const rows = costs.map((cost) => ({
    processes: `${cost.processes}`,
    ...of("steady", cost),
    ...of("backlog", cost),
  }));
  const waitRow = (what: string, { stillMs, longestMs, repeated, deliveries }: Waits) => ({
    "four processes": what,
    "longest time without deliveries": seconds(stillMs),
    "longest delay": seconds(longestMs),
    repeated: `${repeated}`,
    deliveries: `${deliveries}`,
  });
  return [
    markdown(rows),
    "",
    markdown([waitRow("rolling restart", rolled), waitRow("SIGKILL of one", killed)]),
    "",
    `${DESTINATIONS.length} destinations, ${PARTITIONS} partitions, three brokers, three replicas; ` +
      `${PER_SECOND} calls a second, or a backlog of ${BACKLOG}, each to every destination. Goals: 1 s and nothing repeated in a ` +
      "rolling restart, 12 s after a SIGKILL.",
  ].join("\n");
}

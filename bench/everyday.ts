/**
 * `bench everyday`: the whole product, started in the same way as its image starts it, at log level info, with an
 * ordinary load: ten destinations and few calls. Measures the time of a delivery from the append of its call to the
 * receiver, and its CPU, in the first, the second and, with `--long`, the tenth minute of a process.
 *
 * The CPU of a delivery is compared with the CPU for the same calls at full speed, in the same run. At a low rate, every
 * program needs several times as much CPU per call, because its code and data are no longer in the processor's caches
 * when the next call arrives. `RESULTS.md` has the figures of a simple loop with kafkajs and undici.
 *
 * Goals: the process is ready after 1.5 s of CPU; at 300 deliveries per second, the p99 is 25 ms, and a delivery takes
 * 4 times the CPU that it takes at full speed. In the first minute, V8 is still compiling.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { type ImageStart, imageStart } from "./image.ts";
import { markdown, median, quantile } from "./measure.ts";
import type { Program } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { webhooksAt } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const DESTINATIONS = 10;
const LOAD = "30 calls a second, each to all ten";
const CALLS_PER_SECOND = 30;
const MINUTES = { short: [1, 2], long: [1, 2, 10] } as const;
const NAMED: Readonly<Record<number, string>> = { 1: "first", 2: "second", 10: "tenth" };
const MINUTE_MS = 60_000;
/** The number of deliveries at full speed: this many while V8 is compiling, and then as many that are measured. */
const WARM_UP = 100_000;

interface Minute {
  /** The first minute is 1. */
  readonly minute: number;
  /** Latencies of the deliveries whose calls were appended in this minute, in milliseconds. */
  readonly latencies: readonly number[];
  /** The number of deliveries that were received in this minute. */
  readonly deliveries: number;
  readonly cpuMs: number;
}

interface EverydayBench {
  /** The number of starts after the first one. */
  readonly rounds: number;
  /** If true, the tenth minute is also measured. */
  readonly isLong: boolean;
}

export async function benchEveryday(
  brokers: string,
  { rounds, isLong }: EverydayBench,
): Promise<string> {
  using image = await imageStart();
  await using bench = new Workbench(brokers);
  await bench.create([bench.topics.calls], { isStamped: true });
  const start = () => withProgram(bench, image, async (program) => program.cpuMs());
  const firstStartMs = await start();
  const starts: number[] = [];
  for (let round = 0; round < rounds; round += 1) starts.push(await start());
  const rows: Readonly<Record<string, string>>[] = [];
  const full = await fullSpeed(bench, image);
  report(`  at full speed ... ${full.toFixed(1)} ms CPU per 1,000`);
  for (const minute of await everyday(bench, image, MINUTES[isLong ? "long" : "short"])) {
    const row = rowOf(minute, full);
    report(`  ${Object.values(row).join(" | ")}`);
    rows.push(row);
  }
  return (
    `From starting to ready: ${seconds(median(starts))} s of CPU (${starts.map(seconds).join(", ")}), ` +
    `and ${seconds(firstStartMs)} s when it makes its topics. Goal: at most 1.5 s.\n\n` +
    `${markdown(rows)}\n\nTen destinations in one process with all stages, log level info. ` +
    "Goals at 300 deliveries a second, from the second minute on: p99 at most 25 ms, a ratio of at most 4."
  );
}

function rowOf({ minute, latencies, deliveries, cpuMs }: Minute, full: number) {
  const perThousand = (cpuMs / deliveries) * 1_000;
  const ms = (share: number) => quantile(latencies, share).toFixed(1);
  return {
    load: LOAD,
    minute: NAMED[minute] ?? `${minute}`,
    "deliveries / s": (deliveries / 60).toFixed(0),
    "median ms": ms(0.5),
    "p99 ms": ms(0.99),
    "max ms": ms(1),
    "CPU ms / 1,000": perThousand.toFixed(0),
    "at full speed": full.toFixed(0),
    ratio: (perThousand / full).toFixed(1),
  };
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

/** Runs a process on topics that all processes share. */
async function withProgram<Result>(
  bench: Workbench,
  image: ImageStart,
  measure: (program: Program, receiver: Receiver) => Promise<Result>,
): Promise<Result> {
  using receiver = await startReceiver({ journal: true });
  const destinations = webhooksAt(receiver.url, DESTINATIONS);
  await using program = await bench.start({ destinations, logLevel: "info", image });
  return await measure(program, receiver);
}

/** Returns the CPU in milliseconds per 1,000 deliveries of a backlog. */
async function fullSpeed(bench: Workbench, image: ImageStart): Promise<number> {
  const calls = Math.ceil((2 * WARM_UP) / DESTINATIONS);
  await bench.fill(calls, bench.nextCalls(calls));
  return await withProgram(bench, image, async (program, receiver) => {
    await receiver.untilCount(WARM_UP);
    const from = await mark(program, receiver);
    await receiver.untilCount(calls * DESTINATIONS);
    const to = await mark(program, receiver);
    return ((to.cpuMs - from.cpuMs) / (to.received - from.received)) * 1_000;
  });
}

/** Measures some minutes in the life of a process, in order. */
function everyday(bench: Workbench, image: ImageStart, minutes: readonly number[]) {
  return withProgram(bench, image, async (program, receiver) => {
    const { calls } = bench.topics;
    const ends = await bench.ends(calls);
    const total = (minutes.at(-1) ?? 0) * 60 * CALLS_PER_SECOND;
    const beganAtMs = Date.now();
    const posted = bench.post(total, CALLS_PER_SECOND, bench.nextCalls(total));
    const measured: Omit<Minute, "latencies">[] = [];
    for (const minute of minutes) {
      const fromMs = beganAtMs + (minute - 1) * MINUTE_MS;
      await sleep(Math.max(0, fromMs - Date.now()));
      const from = await mark(program, receiver);
      await sleep(fromMs + MINUTE_MS - Date.now());
      const to = await mark(program, receiver);
      const deliveries = to.received - from.received;
      measured.push({ minute, deliveries, cpuMs: to.cpuMs - from.cpuMs });
    }
    await posted;
    await receiver.untilCount(total * DESTINATIONS);
    const appended = await bench.appends(calls, ends);
    const arrived = await receiver.journal();
    return measured.map((each): Minute => {
      const fromMs = beganAtMs + (each.minute - 1) * MINUTE_MS;
      const latencies = arrived.flatMap(([messageId, atMs]) => {
        const appendedAtMs = appended.get(messageId) ?? 0;
        const isIn = appendedAtMs >= fromMs && appendedAtMs < fromMs + MINUTE_MS;
        return isIn ? [atMs - appendedAtMs] : [];
      });
      return { ...each, latencies };
    });
  });
}

async function mark(program: Program, receiver: Receiver) {
  const received = await receiver.count();
  return { cpuMs: program.cpuMs(), received };
}

/**
 * `bench everyday`: the whole product, started as its image starts it, at log level info, under the
 * load of an ordinary day: ten destinations and little to do. What counts is how long a delivery takes
 * from its call's append to the receiver, and what CPU it costs, in the first, the second and, with
 * `--long`, the tenth minute of a process.
 *
 * CPU of a delivery is compared with that of the same calls at full speed, in the same run. Code and
 * data are not in the processor's caches any more when the next call comes, so any program costs a
 * multiple then; decision 0029 has what a plain loop of kafkajs and undici does.
 *
 * Goals: ready within 1.5 s of CPU; at 300 deliveries a second p99 25 ms, and CPU of a delivery 4
 * times that at full speed. In the first minute V8 compiles.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { type ImageStart, imageStart } from "./image.ts";
import { markdown, median, quantile } from "./measure.ts";
import type { Program } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { idOf, webhooksAt } from "./work.ts";
import { tell, Workbench } from "./workbench.ts";

const DESTINATIONS = 10;
/** Destinations of each call; the calls take turns over all destinations. */
const LOADS = [
  { title: "30 calls a second, each to all ten", callsPerSecond: 30, copies: DESTINATIONS },
  { title: "300 calls a second, each to one", callsPerSecond: 300, copies: 1 },
  { title: "30 calls a second, each to one", callsPerSecond: 30, copies: 1 },
] as const;
const MINUTES = { short: [1, 2], long: [1, 2, 10] } as const;
const NAMED: Readonly<Record<number, string>> = { 1: "first", 2: "second", 10: "tenth" };
const MINUTE_MS = 60_000;
/** Deliveries at full speed: V8 compiles for that long, then as many count. */
const WARM_UP = 100_000;

type Load = (typeof LOADS)[number];

interface Minute {
  /** From 1. */
  readonly minute: number;
  /** Latencies of the deliveries whose calls were appended in that minute, in milliseconds. */
  readonly latencies: readonly number[];
  /** Received in it. */
  readonly deliveries: number;
  readonly cpuMs: number;
}

export interface EverydayBench {
  /** Starts, after the first one. */
  readonly rounds: number;
  /** The tenth minute as well. */
  readonly isLong: boolean;
  /** All loads, and not the first one alone, which the goals are for. */
  readonly isWhole: boolean;
}

export async function benchEveryday(
  brokers: string,
  { rounds, isLong, isWhole }: EverydayBench,
): Promise<string> {
  using image = await imageStart();
  await using bench = new Workbench(brokers);
  await bench.create([bench.topics.calls], { isStamped: true });
  const start = () => withProgram(bench, image, async (program) => program.cpuMs());
  const firstStartMs = await start();
  const starts: number[] = [];
  for (let round = 0; round < rounds; round += 1) starts.push(await start());
  const rows: Readonly<Record<string, string>>[] = [];
  for (const load of isWhole ? LOADS : LOADS.slice(0, 1)) {
    const full = await fullSpeed(bench, image, load);
    tell(`  ${load.title}: at full speed ... ${full.toFixed(1)} ms CPU per 1,000`);
    for (const minute of await everyday(bench, image, load, MINUTES[isLong ? "long" : "short"])) {
      const row = rowOf(load.title, minute, full);
      tell(`  ${Object.values(row).join(" | ")}`);
      rows.push(row);
    }
  }
  return (
    `From starting to ready: ${seconds(median(starts))} s of CPU (${starts.map(seconds).join(", ")}), ` +
    `and ${seconds(firstStartMs)} s when it makes its topics. Goal: at most 1.5 s.\n\n` +
    `${markdown(rows)}\n\nTen destinations in one process with all stages, log level info. ` +
    "Goals at 300 deliveries a second, from the second minute on: p99 at most 25 ms, a ratio of at most 4."
  );
}

function rowOf(load: string, { minute, latencies, deliveries, cpuMs }: Minute, full: number) {
  const perThousand = (cpuMs / deliveries) * 1_000;
  const ms = (share: number) => quantile(latencies, share).toFixed(1);
  return {
    load,
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

/** A process on topics that all of them share. */
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

/** Those that go to all name nobody, as most calls do. */
function nextCalls(bench: Workbench, calls: number, { copies }: Load) {
  const named = (number: number) => [idOf(number % DESTINATIONS)];
  return bench.nextCalls(calls, copies === DESTINATIONS ? undefined : named);
}

/** CPU milliseconds for each 1,000 deliveries of a backlog. */
async function fullSpeed(bench: Workbench, image: ImageStart, load: Load): Promise<number> {
  const calls = Math.ceil((2 * WARM_UP) / load.copies);
  await bench.fill(calls, nextCalls(bench, calls, load));
  return await withProgram(bench, image, async (program, receiver) => {
    await receiver.untilCount(WARM_UP);
    const from = await mark(program, receiver);
    await receiver.untilCount(calls * load.copies);
    const to = await mark(program, receiver);
    return ((to.cpuMs - from.cpuMs) / (to.received - from.received)) * 1_000;
  });
}

/** Some minutes of a process's life, in their order. */
function everyday(bench: Workbench, image: ImageStart, load: Load, minutes: readonly number[]) {
  return withProgram(bench, image, async (program, receiver) => {
    const { calls } = bench.topics;
    const ends = await bench.ends(calls);
    const total = (minutes.at(-1) ?? 0) * 60 * load.callsPerSecond;
    const beganAtMs = Date.now();
    const posted = bench.post(total, load.callsPerSecond, nextCalls(bench, total, load));
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
    await receiver.untilCount(total * load.copies);
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

/**
 * `bench everyday`: the whole product, started as its image starts it, at log level info, under the
 * load of an ordinary day: ten destinations and little to do. What counts is how long a delivery takes
 * from its call's append to the receiver, and what CPU it costs, in the first, the second and, with
 * `--long`, the tenth minute of a process.
 *
 * CPU of a delivery is compared with that of the same calls at full speed, in the same run. Code and
 * data are not in the processor's caches any more when the next call comes, so any program costs a
 * multiple then. `--long` measures the same for a plain loop (`everyday-plain.ts`), too.
 *
 * Goals: ready within 1.5 s of CPU; at 300 deliveries a second p99 25 ms, and CPU of a delivery 4
 * times that at full speed. In the first minute V8 compiles.
 */

import { type Contestant, EverydayRuns, type Load, type Minute } from "./everyday-run.ts";
import { imageStart } from "./image.ts";
import { markdown, median, quantile } from "./measure.ts";

const DESTINATIONS = 10;
const LOADS: readonly Load[] = [
  { title: "30 calls a second, each to all ten", callsPerSecond: 30, copies: DESTINATIONS },
  { title: "300 calls a second, each to one", callsPerSecond: 300, copies: 1 },
  { title: "30 calls a second, each to one", callsPerSecond: 30, copies: 1 },
];
/** The load of the goals. */
const GOAL_LOADS = LOADS.slice(0, 1);
/** The floor is measured for loads that the plain loop can do, in the minute of the goals. */
const PLAIN_MINUTES = [2];
const MINUTES = { short: [1, 2], long: [1, 2, 10] } as const;
const NAMED = ["first", "second", "third", "4th", "5th", "6th", "7th", "8th", "9th", "tenth"];

export interface EverydayBench {
  /** Starts, after the first one. */
  readonly rounds: number;
  /** The tenth minute as well. */
  readonly isLong: boolean;
  /** All loads, and not the one alone that the goals are for. */
  readonly isWhole: boolean;
}

export async function benchEveryday(
  brokers: string,
  { rounds, isLong, isWhole }: EverydayBench,
): Promise<string> {
  using image = await imageStart();
  await using runs = await EverydayRuns.create(brokers, DESTINATIONS, image);
  const firstStartMs = await runs.start();
  const starts: number[] = [];
  for (let round = 0; round < rounds; round += 1) starts.push(await runs.start());
  const rows: string[][] = [];
  const measure = async (load: Load, minutes: readonly number[], contestant: Contestant) => {
    const title = contestant === "plain" ? `${load.title}, by a plain loop` : load.title;
    process.stderr.write(`  ${title}: at full speed ... `);
    const full = await runs.fullSpeed(load, contestant);
    process.stderr.write(`${full.toFixed(1)} ms CPU per 1,000\n`);
    for (const minute of await runs.everyday(load, minutes, contestant)) {
      const row = rowOf(title, minute, full);
      process.stderr.write(`  ${row.join(" | ")}\n`);
      rows.push(row);
    }
  };
  for (const load of isWhole ? LOADS : GOAL_LOADS) {
    await measure(load, MINUTES[isLong ? "long" : "short"], "product");
    if (isLong && load.copies === DESTINATIONS) await measure(load, PLAIN_MINUTES, "plain");
  }
  const header = [
    ...["load", "minute", "deliveries / s", "median ms", "p99 ms", "max ms"],
    ...["CPU ms / 1,000", "at full speed", "ratio"],
  ];
  return (
    `From starting to ready: ${seconds(median(starts))} s of CPU (${starts.map(seconds).join(", ")}), ` +
    `and ${seconds(firstStartMs)} s when it makes its topics. Goal: at most 1.5 s.\n\n` +
    `${markdown(header, rows)}\n\nTen destinations in one process with all stages, log level info. ` +
    "A plain loop is kafkajs and undici alone, without topics of deliveries, log and metrics. " +
    "Goals at 300 deliveries a second, from the second minute on: p99 at most 25 ms, a ratio of at most 4."
  );
}

function rowOf(title: string, { minute, latencies, deliveries, cpuMs }: Minute, full: number) {
  const perThousand = (cpuMs / deliveries) * 1_000;
  return [
    title,
    NAMED[minute - 1] ?? `${minute}`,
    (deliveries / 60).toFixed(0),
    ...[0.5, 0.99, 1].map((share) => quantile(latencies, share).toFixed(1)),
    ...[perThousand.toFixed(0), full.toFixed(0), (perThousand / full).toFixed(1)],
  ];
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

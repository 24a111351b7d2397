/**
 * `bench isolation`: measures whether one failing destination changes the end-to-end p99 of the others, from the append
 * of a call to its receipt. The load is a quarter of the measured capacity: receiver, Kafka and callers share the
 * machine, and at half of the capacity, all of them wait for the processors.
 *
 * Each run is compared with itself: after the warm-up, all destinations are healthy for a while, then one of them
 * starts to fail. A run in which none fails shows what changes over time alone. The failing destination gets as many
 * calls as the others.
 *
 * In one run of three, the machine pauses, which increases the p99 of ten seconds tenfold. The figure is therefore the
 * p99 of a typical second: the median over all seconds of all rounds. Its interval contains the results of 95 of 100
 * repetitions, by bootstrap over the seconds. The p99 over the whole time is shown next to it. Goal: below 1.10 of the
 * run in which no destination fails.
 */

import {
  type IsolationFigures,
  IsolationRuns,
  ONE_BROKER,
  type Part,
  type Surroundings,
} from "./isolation-run.ts";
import { markdown, median, quantile } from "./measure.ts";
import { type Health, SICKNESSES } from "./sick-server.ts";
import { report } from "./workbench.ts";

const STATES: readonly Health[] = ["healthy", ...SICKNESSES];
const CAPACITY_SHARE = 0.25;
const RESAMPLES = 2_000;

const TITLES: Readonly<Record<Health, string>> = {
  healthy: "none",
  refuses: "refuses connections",
  hangs: "hangs until the deadline",
  drips: "drips bytes",
  fails: "503 to everything",
  floods: "floods headers",
  topic: "its topic is deleted",
  leader: "its partitions have no leader",
};

export interface IsolationBench {
  readonly destinations: number;
  /** The number of calls for measuring the capacity. */
  readonly calls: number;
  readonly seconds: number;
  readonly rounds: number;
  /** By default, the states for which one broker is sufficient. */
  readonly states?: readonly Health[];
}

export async function benchIsolation(
  brokers: string,
  bench: IsolationBench,
  surroundings: Surroundings = ONE_BROKER,
): Promise<string> {
  const { destinations, rounds, states = STATES } = bench;
  await using runs = await IsolationRuns.create(brokers, destinations, surroundings);
  const capacity = await runs.capacity(bench.calls);
  const load = { callsPerSecond: capacity * CAPACITY_SHARE, seconds: bench.seconds };
  report(`  capacity: ${capacity.toFixed(0)} calls a second`);
  const figures = new Map<Health, IsolationFigures[]>(states.map((state) => [state, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const index of states.keys()) {
      const health = states[(index + round) % states.length] ?? "healthy";
      const measured = await runs.run(health, load);
      figures.get(health)?.push(measured);
      report(`  round ${round}/${rounds}: sick: ${TITLES[health]} ... ${progressOf(measured)}`);
    }
  }
  return (
    `${table(figures)}\n\n` +
    `${destinations} destinations in one process; ${load.callsPerSecond.toFixed(0)} calls a second, ` +
    `each to ten destinations: a quarter of the measured capacity. In each of ${rounds} rounds ` +
    `${bench.seconds} s with all healthy, then ${bench.seconds} s with one failing, over the healthy ` +
    "destinations. The p99 is that of a typical second: the median over all seconds. Goal: ratio " +
    "to none failing below 1.10."
  );
}

function progressOf({ before, after }: IsolationFigures): string {
  const p99 = (part: Part) => median(p99s([part])).toFixed(1);
  return `p99 ${p99(before)} ms, then ${p99(after)} ms, ${after.cpuMsPerThousand.toFixed(0)} ms CPU per 1,000`;
}

/** Returns the p99 of each second. */
function p99s(parts: readonly Part[]): readonly number[] {
  return parts.flatMap(({ seconds }) => seconds.map((second) => quantile(second, 0.99)));
}

function table(figures: ReadonlyMap<Health, readonly IsolationFigures[]>): string {
  const none = sidesOf(figures.get("healthy") ?? []);
  const rows = [...figures].map(([state, of]) => {
    const { before, after } = sidesOf(of);
    const [low, high] = interval(
      () =>
        ratio(resampled(before), resampled(after)) /
        ratio(resampled(none.before), resampled(none.after)),
    );
    const all = of.flatMap((each) => each.after.seconds.flat());
    const isNone = state === "healthy";
    const against = ratio(before, after) / ratio(none.before, none.after);
    return {
      "failing destination": TITLES[state],
      "median ms": quantile(all, 0.5).toFixed(1),
      "p99 ms before": median(before).toFixed(1),
      "p99 ms while it fails": median(after).toFixed(1),
      ratio: ratio(before, after).toFixed(2),
      "ratio to none failing": isNone ? "1.00" : against.toFixed(2),
      "95 % interval": isNone ? "" : `${low.toFixed(2)} to ${high.toFixed(2)}`,
      "p99 ms over all": quantile(all, 0.99).toFixed(1),
      "CPU ms / 1,000 healthy": median(of.map((each) => each.after.cpuMsPerThousand)).toFixed(0),
    };
  });
  return markdown(rows);
}

interface Sides {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

function sidesOf(figures: readonly IsolationFigures[]): Sides {
  return {
    before: p99s(figures.map(({ before }) => before)),
    after: p99s(figures.map(({ after }) => after)),
  };
}

function ratio(before: readonly number[], after: readonly number[]): number {
  return median(after) / median(before);
}

/** Returns a resample of the same size, drawn with replacement. */
function resampled(values: readonly number[]): readonly number[] {
  return values.map(() => values[Math.floor(Math.random() * values.length)] ?? Number.NaN);
}

function interval(draw: () => number): [low: number, high: number] {
  const drawn = Array.from({ length: RESAMPLES }, draw);
  return [quantile(drawn, 0.025), quantile(drawn, 0.975)];
}

/**
 * `bench isolation`: whether one sick destination moves the others' end-to-end p99, from a call's
 * append to its receipt, at half of the measured capacity.
 *
 * Each round has a run with all destinations healthy and one for each way to be sick, so that a run
 * and the one it is compared with are close in time; another one is the first each time. The sick
 * destination gets as many calls as the others. Goal: the median of the rounds' p99 below 1.10 of
 * that without.
 */

import { type Health, type IsolationLoad, IsolationRuns } from "./isolation-run.ts";
import { markdown, median, quantile } from "./measure.ts";
import { SICKNESSES } from "./sick-server.ts";

const STATES: readonly Health[] = ["healthy", ...SICKNESSES];

const TITLES: Readonly<Record<Health, string>> = {
  healthy: "none",
  refuses: "refuses connections",
  hangs: "hangs until the deadline",
  drips: "drips bytes",
  fails: "503 to everything",
  floods: "floods headers",
  topic: "its topic is deleted",
};

interface Figures {
  readonly median: number;
  readonly p99: number;
  readonly cpuMsPerThousand: number;
}

export interface IsolationBench {
  readonly destinations: number;
  /** For the capacity. */
  readonly calls: number;
  readonly seconds: number;
  readonly rounds: number;
}

export async function benchIsolation(brokers: string, bench: IsolationBench): Promise<string> {
  const { destinations, rounds } = bench;
  await using runs = await IsolationRuns.create(brokers, destinations);
  const capacity = await runs.capacity(bench.calls);
  const load = { callsPerSecond: capacity / 2, seconds: bench.seconds };
  process.stderr.write(`  capacity: ${capacity.toFixed(0)} calls a second\n`);
  const figures = new Map<Health, Figures[]>(STATES.map((state) => [state, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const index of STATES.keys()) {
      const health = STATES[(index + round) % STATES.length] ?? "healthy";
      const measured = await measureRun(runs, health, load);
      figures.get(health)?.push(measured);
      process.stderr.write(
        `  round ${round}/${rounds}: sick: ${TITLES[health]} ... p99 ${measured.p99.toFixed(1)} ms, ` +
          `${measured.cpuMsPerThousand.toFixed(0)} ms CPU per 1,000\n`,
      );
    }
  }
  return (
    `${table(figures)}\n\n` +
    `${destinations} destinations in one process; ${load.callsPerSecond.toFixed(0)} calls a second, ` +
    `each to ten destinations, for ${bench.seconds} s: half of the measured capacity. Medians of ` +
    `${rounds} rounds over the healthy destinations. Goal: a ratio below 1.10.`
  );
}

async function measureRun(
  runs: IsolationRuns,
  health: Health,
  load: IsolationLoad,
): Promise<Figures> {
  const { latencies, cpuMsPerThousand } = await runs.run(health, load);
  return {
    median: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpuMsPerThousand,
  };
}

function table(figures: ReadonlyMap<Health, readonly Figures[]>): string {
  const p99Of = (state: Health) => (figures.get(state) ?? []).map(({ p99 }) => p99);
  const healthy = p99Of("healthy");
  const rows = STATES.map((state) => {
    const p99 = p99Of(state);
    const pairs = p99.map((value, round) => value / (healthy[round] ?? Number.NaN));
    const all = figures.get(state) ?? [];
    return [
      TITLES[state],
      median(all.map((each) => each.median)).toFixed(1),
      median(p99).toFixed(1),
      (median(p99) / median(healthy)).toFixed(2),
      `${Math.min(...pairs).toFixed(2)} to ${Math.max(...pairs).toFixed(2)}`,
      median(all.map((each) => each.cpuMsPerThousand)).toFixed(0),
    ];
  });
  const header = ["sick", "median ms", "p99 ms", "ratio of p99", "ratios of the pairs"];
  return markdown([...header, "CPU ms / 1,000 healthy"], rows);
}

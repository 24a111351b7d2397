/**
 * Runs contestants as child processes, in turns, and compares medians.
 *
 * Each contestant is a program that does the whole work once and prints a `Measured` as one line of JSON. It measures
 * its CPU between two marks in the work, so that the start of Node and the warm-up do not count. Turns are interleaved
 * (A B A B ...), because the speed of the machine drifts; only ratios within one run are meaningful.
 */

import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { spawnGuarded } from "../tools/kafka/guarded-process.ts";
import { KAFKA_VERSION } from "../tools/kafka/settings.ts";

/** The flags with which the image starts Node. All contestants get them, unless a contestant sets others. */
export const NODE_FLAGS: readonly string[] = [
  "--max-semi-space-size=16",
  "--initial-old-space-size=160",
  "--no-allocation-site-pretenuring",
  "--v8-pool-size=1",
];

export interface Measured {
  /** Units of work between the two marks: calls, requests, records. */
  readonly units: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly rssMaxMb: number;
  /** Other figures of this contestant, by name. */
  readonly extra?: Readonly<Record<string, number>>;
}

export interface Contestant {
  readonly name: string;
  /** The program and its arguments, run by this Node. */
  readonly argv: readonly string[];
  readonly nodeFlags?: readonly string[];
}

export interface Turn {
  readonly name: string;
  readonly run: () => Promise<Measured>;
}

/** Runs each contestant `rounds` times, in turns. Progress is written to standard error. */
export async function measureInTurns(
  turns: readonly Turn[],
  rounds: number,
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const results = new Map<string, Measured[]>(turns.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    // The first contestant of a round changes, because the machine may become faster or slower over time.
    for (const { name, run } of round % 2 === 1 ? turns : turns.toReversed()) {
      process.stderr.write(`  round ${round}/${rounds}: ${name} ... `);
      const measured = await run();
      process.stderr.write(`${perThousand(measured).toFixed(2)} ms CPU per 1,000\n`);
      results.get(name)?.push(measured);
    }
  }
  return results;
}

/** @param before called before each turn, to restore the initial state. */
export async function measureContestants(
  contestants: readonly Contestant[],
  rounds: number,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<readonly Summary[]> {
  const turns = contestants.map((contestant) => ({
    name: contestant.name,
    run: () => before().then(() => runOnce(contestant)),
  }));
  return [...(await measureInTurns(turns, rounds))].map(([name, of]) => summarise(name, of));
}

export async function runOnce<Result = Measured>(contestant: Contestant): Promise<Result> {
  const { name, argv, nodeFlags = NODE_FLAGS } = contestant;
  const child = spawnGuarded(null, [process.execPath, ...nodeFlags, ...argv], {
    output: ["pipe", "inherit"],
  });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  if (status !== 0) throw new Error(`${name}: ended with status ${status}; last line: ${last}`);
  return JSON.parse(last) as Result;
}

/** Returns the CPU in milliseconds per 1,000 units. */
export function perThousand({ cpuMs, units }: Measured): number {
  return (cpuMs / units) * 1_000;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** @param share 0 to 1; 0.99 is the 99th percentile, 1 the largest value. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export interface Bootstrapped {
  readonly value: number;
  /** The value is between `low` and `high` with a probability of 95 %, according to these samples. */
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 4_000;

/** Computes a statistic of samples that were taken one after the other, and its confidence interval. */
export function bootstrapped<Sample>(
  samples: readonly Sample[],
  statistic: (samples: readonly Sample[]) => number,
): Bootstrapped {
  const again = Array.from({ length: RESAMPLES }, () => {
    const drawn = samples.flatMap(() => samples[Math.floor(Math.random() * samples.length)] ?? []);
    return statistic(drawn);
  });
  return {
    value: statistic(samples),
    low: quantile(again, 0.025),
    high: quantile(again, 0.975),
  };
}

export interface Summary {
  readonly name: string;
  readonly cpuMsPerThousand: number;
  readonly unitsPerSecond: number;
  readonly rssMaxMb: number;
  /** Returns the value of an additional column. */
  readonly extra: (name: string) => number;
}

/** Returns the medians over the rounds; for memory, the largest value. */
export function summarise(name: string, measured: readonly Measured[]): Summary {
  return {
    name,
    cpuMsPerThousand: median(measured.map(perThousand)),
    unitsPerSecond: median(measured.map(({ units, wallMs }) => (units / wallMs) * 1_000)),
    rssMaxMb: Math.max(...measured.map(({ rssMaxMb }) => rssMaxMb)),
    extra: (figure) => median(measured.map(({ extra }) => extra?.[figure] ?? Number.NaN)),
  };
}

/** Formats rows, whose cells are given by the names of the columns, as a Markdown table. */
export function markdown(rows: readonly Readonly<Record<string, string>>[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const header = Object.keys(rows[0] ?? {});
  return [
    line(header),
    line(header.map(() => "---")),
    ...rows.map((row) => line(Object.values(row))),
  ].join("\n");
}

/** Describes the machine and the versions with which the figures were measured. */
export function conditions(brokers: 1 | 3 = 1): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  const gb = Math.round(totalmem() / 2 ** 30);
  const load = loadavg()[0]?.toFixed(1);
  const kafka = brokers === 1 ? "one broker" : "three brokers";
  return `Node ${process.version}, ${availableParallelism()} cores (${model}), ${gb} GiB, ${process.platform}, load average ${load} before; Kafka ${KAFKA_VERSION} with ${kafka} on the same machine.`;
}

/** Marks the start and the end of the measured part within a contestant. */
export function createMeter(): { start(): void; stop(units: number): Measured } {
  let cpu = process.cpuUsage();
  let startedAt = performance.now();
  return {
    start: () => {
      cpu = process.cpuUsage();
      startedAt = performance.now();
    },
    stop: (units) => {
      const used = process.cpuUsage(cpu);
      return {
        units,
        cpuMs: (used.user + used.system) / 1_000,
        wallMs: performance.now() - startedAt,
        // maxRSS is in KiB on every platform that Node supports.
        rssMaxMb: Math.round(process.resourceUsage().maxRSS / 1_024),
      };
    },
  };
}

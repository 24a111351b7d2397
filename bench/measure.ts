/**
 * Runs contestants as child processes, in turns, and compares medians.
 *
 * Each contestant is a program that does the whole work once and prints one JSON line, a
 * `Measured`. CPU is measured inside it, between two marks of the same work, so that starting
 * Node and warming up count for nobody. Turns are interleaved (A B A B ...), because the machine's
 * speed drifts; only ratios within one run mean anything.
 */

import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { spawnGuarded } from "../tools/kafka/guarded-process.ts";
import { KAFKA_VERSION } from "../tools/kafka/settings.ts";

/** The image starts Node with these; so everybody measured here gets them, unless it says otherwise. */
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

/** Takes every turn `rounds` times, one after the other; progress goes to standard error. */
export async function measureInTurns(
  turns: readonly Turn[],
  rounds: number,
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const results = new Map<string, Measured[]>(turns.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    // Who begins changes: the machine may get faster or slower all the time.
    for (const { name, run } of round % 2 === 1 ? turns : turns.toReversed()) {
      process.stderr.write(`  round ${round}/${rounds}: ${name} ... `);
      const measured = await run();
      process.stderr.write(`${perThousand(measured).toFixed(2)} ms CPU per 1,000\n`);
      results.get(name)?.push(measured);
    }
  }
  return results;
}

/** @param before called before each turn, to put things back to where they were. */
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

/** CPU milliseconds per 1,000 units. */
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
  /** Between these it lies with 95 % certainty, as far as these samples tell. */
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 4_000;

/** A statistic of samples that were taken one after the other, and how far chance moves it. */
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
  /** Columns of other figures. */
  readonly extra: (name: string) => number;
}

/** Medians over the rounds, except memory: the largest. */
export function summarise(name: string, measured: readonly Measured[]): Summary {
  return {
    name,
    cpuMsPerThousand: median(measured.map(perThousand)),
    unitsPerSecond: median(measured.map(({ units, wallMs }) => (units / wallMs) * 1_000)),
    rssMaxMb: Math.max(...measured.map(({ rssMaxMb }) => rssMaxMb)),
    extra: (figure) => median(measured.map(({ extra }) => extra?.[figure] ?? Number.NaN)),
  };
}

/** Rows by the names of their columns, as a Markdown table that people can paste. */
export function markdown(rows: readonly Readonly<Record<string, string>>[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const header = Object.keys(rows[0] ?? {});
  return [
    line(header),
    line(header.map(() => "---")),
    ...rows.map((row) => line(Object.values(row))),
  ].join("\n");
}

/** What the figures were taken on. */
export function conditions(brokers: 1 | 3 = 1): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  const gb = Math.round(totalmem() / 2 ** 30);
  const load = loadavg()[0]?.toFixed(1);
  const kafka = brokers === 1 ? "one broker" : "three brokers";
  return `Node ${process.version}, ${availableParallelism()} cores (${model}), ${gb} GiB, ${process.platform}, load average ${load} before; Kafka ${KAFKA_VERSION} with ${kafka} on the same machine.`;
}

/** Marks the beginning and the end of the measured part within a contestant. */
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

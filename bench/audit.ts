/**
 * `bench audit`: what the ledger costs the route and deliver stages, and how long `switchyard audit` takes.
 *
 *   part                                               goal
 *   CPU of a stage with a ledger, and without one      a ratio of at most 1.02
 *   a day at 1,000 calls a second, nothing is missing  one minute, and as much memory as for six hours
 *   two million calls, one in 100,000 of which did     exactly these are named
 *     not become a delivery
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { AuditRun } from "./audit-work.ts";
import { prepareDeliver } from "./deliver.ts";
import {
  bootstrapped,
  type Contestant,
  markdown,
  measureInTurns,
  median,
  perThousand,
  runOnce,
} from "./measure.ts";
import { CALLS_PER_SECOND, PARTITIONS, writeDay, writeWithGaps } from "./past-stages.ts";
import { configuration } from "./program.ts";
import { startReceiver } from "./receiver.ts";
import { prepareRoute, SPREADS } from "./route.ts";
import { webhooksAt } from "./work.ts";
import { Workbench } from "./workbench.ts";

/** Enough calls for both stages that the compilation of the ledger's code is a small part of the CPU. */
const CALLS = 300_000;
const REQUESTS = 150_000;
const DESTINATIONS = 3;
const SECONDS_WITH_GAPS = 2_000;
const MISSING_EVERY = 100_000;

export async function benchAudit(brokers: string, rounds: number): Promise<string> {
  const costs = [await costOfRoute(brokers, rounds), await costOfDeliver(brokers, rounds)];
  const audits = [...(await auditDay(brokers)), await auditGaps(brokers)];
  return `${markdown(costs)}\n\n${markdown(audits)}\n\nAudits: ${CALLS_PER_SECOND} calls a second, ${PARTITIONS} partitions of each topic, a ledger record of each consumer every second. The last audit named exactly the missing deliveries. Goals: a ratio of at most 1.02; a day in one minute, with as much memory as six hours.`;
}

async function costOfRoute(brokers: string, rounds: number) {
  await using bench = new Workbench(brokers);
  const [spread] = SPREADS;
  const { ours, reset } = await prepareRoute(bench, spread, CALLS);
  const contestants = [ours(), ours("audited")];
  return await costOf("route", { contestants, reset, rounds, units: spread.copiesPerCall });
}

async function costOfDeliver(brokers: string, rounds: number) {
  await using bench = new Workbench(brokers);
  using receiver = await startReceiver();
  const { ours, reset } = await prepareDeliver(bench, receiver, REQUESTS);
  const contestants = [ours("warn"), ours("warn", "audited")];
  return await costOf("deliver", { contestants, reset, rounds, units: 1 });
}

interface Cost {
  /** Without a ledger, and with one. */
  readonly contestants: readonly Contestant[];
  readonly reset: () => Promise<void>;
  readonly rounds: number;
  /** The number of measured units of a call. */
  readonly units: number;
}

async function costOf(stage: string, { contestants, reset, rounds, units }: Cost) {
  const turns = contestants.map((contestant) => ({
    name: contestant.name,
    run: () => reset().then(() => runOnce(contestant)),
  }));
  const measured = await measureInTurns(turns, rounds);
  const [without = [], having = []] = [...measured.values()].map((each) => each.map(perThousand));
  const ratios = having.map((ms, round) => ms / (without[round] ?? Number.NaN));
  const ratio = bootstrapped(ratios, median);
  return {
    stage,
    "CPU ms / 1,000 without": (median(without) * units).toFixed(2),
    "with a ledger": (median(having) * units).toFixed(2),
    ratio: ratio.value.toFixed(3),
    "95 % interval": `${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)}`,
  };
}

async function auditDay(brokers: string) {
  await using bench = await auditedBench(brokers, DESTINATIONS);
  await writeDay(bench, DESTINATIONS);
  const rows = [];
  for (const since of ["6h", "24h"]) {
    const run = await runAudit(bench, DESTINATIONS, since);
    assertNamed(run, []);
    rows.push(rowOf(`${since}, ${DESTINATIONS} destinations`, run));
  }
  return rows;
}

async function auditGaps(brokers: string) {
  await using bench = await auditedBench(brokers, 1);
  const missing = await writeWithGaps(bench, SECONDS_WITH_GAPS, MISSING_EVERY);
  const run = await runAudit(bench, 1, "2h");
  assertNamed(run, missing);
  return rowOf(`1 destination, ${missing.length} deliveries are missing`, run);
}

function assertNamed({ report: { findings, unnamed } }: AuditRun, missing: readonly string[]) {
  const named = findings.map(({ kind, messageId }) => `${kind} ${messageId}`).sort();
  const expected = missing.map((messageId) => `missing ${messageId}`).sort();
  if (named.join() === expected.join() && unnamed.length === 0) return;
  throw new Error(`not named as expected: ${JSON.stringify({ named, unnamed, expected })}`);
}

async function auditedBench(brokers: string, count: number): Promise<Workbench> {
  const bench = new Workbench(brokers);
  const { calls, ledger } = bench.topics;
  const own = webhooksAt("", count).flatMap(({ id }) => [bench.deliveries(id), bench.retries(id)]);
  await bench.create([calls, ledger, ...own], { partitions: PARTITIONS });
  return bench;
}

function rowOf(audit: string, { units, wallMs, cpuMs, rssMaxMb }: AuditRun) {
  return {
    audit,
    calls: `${units}`,
    seconds: (wallMs / 1_000).toFixed(1),
    "CPU s": (cpuMs / 1_000).toFixed(1),
    "peak MB": `${rssMaxMb}`,
  };
}

async function runAudit(bench: Workbench, count: number, since: string): Promise<AuditRun> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-bench-"));
  const file = join(directory, "switchyard.yaml");
  const destinations = webhooksAt("http://127.0.0.1:1/", count);
  const options = { brokers: bench.brokers, topicPrefix: bench.topics.prefix, destinations };
  writeFileSync(file, JSON.stringify(configuration(options, directory, 1, 2)));
  const argv = ["bench/audit-work.ts", "audit", "--json", "--config", file, "--since", since];
  const run = await runOnce<AuditRun>({ name: `the audit of ${since}`, argv });
  rmSync(directory, { recursive: true, force: true });
  return run;
}

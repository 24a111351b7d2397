/**
 * `bench route`: routes calls of 1 KB to five destinations, (a) each call to all of them, (b) each call to two of them
 * on average. Compares this with a simple kafkajs loop that makes the same copies.
 *
 * For both, the units are copies, so the CPU per call is the CPU per copy times the copies per call. The ratio is our
 * CPU divided by that of the loop. Smaller is better; the goal in (a) is at most 0.45.
 */

import { type Contestant, markdown, measureContestants } from "./measure.ts";
import { callRecord, DESTINATIONS, idOf, twoOnAverage } from "./work.ts";
import { Workbench } from "./workbench.ts";

const CALLS = 60_000;
export const SPREADS = [
  { title: "(a) all five", copiesPerCall: 5, namesOf: () => null },
  { title: "(b) two on average", copiesPerCall: 2, namesOf: twoOnAverage },
] as const;

export async function benchRoute(brokers: string, rounds: number): Promise<string> {
  const rows: Readonly<Record<string, string>>[] = [];
  for (const spread of SPREADS) rows.push(...(await measureSpread(brokers, spread, rounds)));
  return markdown(rows);
}

/** Writes the calls, and returns the contestants. */
export async function prepareRoute(
  bench: Workbench,
  { copiesPerCall, namesOf }: Omit<(typeof SPREADS)[number], "title">,
  calls = CALLS,
) {
  const { deadLetters, ledger, prefix } = bench.topics;
  const topic = bench.topics.calls;
  const destinations = Array.from({ length: DESTINATIONS }, (_, at) => bench.deliveries(idOf(at)));
  await bench.create([topic, ...destinations, deadLetters, ledger]);
  await bench.fill(calls, (number) => callRecord(topic, number, namesOf(number)));
  const copies = calls * copiesPerCall;
  const warmUp = Math.floor(copies / 4);
  const work = [bench.brokers, `${copies - warmUp}`, `${warmUp}`];
  const yardstick: Contestant = {
    name: "plain kafkajs loop",
    argv: ["bench/route-yardstick.ts", ...work, topic, ...destinations],
  };
  const ours = (...more: readonly "audited"[]): Contestant => ({
    name: ["Switchyard route", ...more].join(", "),
    argv: ["bench/route-switchyard.ts", ...work, prefix, ...more],
  });
  // A consumer group continues where it stopped, so each turn needs a new group.
  const reset = () => bench.forgetGroups([bench.groups.route, topic]);
  return { yardstick, ours, reset };
}

async function measureSpread(
  brokers: string,
  { title, copiesPerCall, namesOf }: (typeof SPREADS)[number],
  rounds: number,
) {
  await using bench = new Workbench(brokers);
  const { yardstick, ours, reset } = await prepareRoute(bench, { copiesPerCall, namesOf });
  const summaries = await measureContestants([yardstick, ours()], rounds, reset);
  const loop = summaries[0]?.cpuMsPerThousand ?? Number.NaN;
  return summaries.map(({ name, cpuMsPerThousand, unitsPerSecond, rssMaxMb }) => ({
    "calls go to": title,
    program: name,
    "CPU ms / 1,000 calls": (cpuMsPerThousand * copiesPerCall).toFixed(1),
    ratio: (cpuMsPerThousand / loop).toFixed(2),
    "calls / s": (unitsPerSecond / copiesPerCall).toFixed(0),
    "peak MB": rssMaxMb.toFixed(0),
  }));
}

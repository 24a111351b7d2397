/**
 * `bench starts`: routes the same calls to five destinations, in one process after the other, each started in the same
 * way as in the image. The CPU is that of the whole process, including its start.
 *
 * The bench looks for runs that differ although they do the same work. Goal: the slowest run has at least 0.8 of the
 * median's calls per second.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { type ImageStart, imageStart } from "./image.ts";
import { markdown, median } from "./measure.ts";
import { callRecord, DESTINATIONS, webhooksAt } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const CALLS = 60_000;
const LOOK_EVERY_MS = 25;
/** The route stage sends no requests. */
const URL_OF_NOBODY = "http://127.0.0.1:9/";

interface Run {
  readonly callsPerSecond: number;
  readonly cpuUsPerCall: number;
  readonly peakMb: number;
}

export async function benchStarts(brokers: string, starts: number): Promise<string> {
  using image = await imageStart();
  await using bench = new Workbench(brokers);
  const { calls } = bench.topics;
  await bench.create([calls]);
  await bench.fill(CALLS, (number) => callRecord(calls, number));
  const runs: Run[] = [];
  for (let start = 1; start <= starts; start += 1) {
    const run = await routeAll(bench, image);
    report(`  start ${start}/${starts} ... ${run.callsPerSecond.toFixed(0)} calls / s`);
    runs.push(run);
  }
  const middle = (figure: keyof Run) => median(runs.map((run) => run[figure]));
  const typical = {
    callsPerSecond: middle("callsPerSecond"),
    cpuUsPerCall: middle("cpuUsPerCall"),
    peakMb: middle("peakMb"),
  };
  const rows = runs.map((run, index) => rowOf(`${index + 1}`, run));
  const slowest = Math.min(...runs.map((run) => run.callsPerSecond)) / typical.callsPerSecond;
  const table = markdown([...rows, rowOf("median", typical)]);
  return `${table}\nSlowest against the median: ${slowest.toFixed(2)}\n`;
}

function rowOf(start: string, { callsPerSecond, cpuUsPerCall, peakMb }: Run) {
  return {
    start,
    "calls / s": callsPerSecond.toFixed(0),
    "CPU us / call": cpuUsPerCall.toFixed(1),
    "peak MB": peakMb.toFixed(0),
  };
}

async function routeAll(bench: Workbench, image: ImageStart): Promise<Run> {
  const { groups, kafka, topics } = bench;
  // A group continues where it stopped, so each start needs a new group.
  await bench.forgetGroups([groups.route, topics.calls]);
  const destinations = webhooksAt(URL_OF_NOBODY, DESTINATIONS);
  await using program = await bench.start({
    stages: ["route"],
    destinations,
    image,
    logLevel: "info",
  });
  const readyAtMs = performance.now();
  const committed = async () => {
    const offsets = await kafka.admin.committed(groups.route, topics.calls);
    return offsets.reduce((sum, { offset }) => sum + offset, 0);
  };
  while ((await committed()) < CALLS) await sleep(LOOK_EVERY_MS);
  const tookMs = performance.now() - readyAtMs;
  return {
    callsPerSecond: (CALLS / tookMs) * 1_000,
    cpuUsPerCall: (program.cpuMs() * 1_000) / CALLS,
    peakMb: program.peakMb(),
  };
}

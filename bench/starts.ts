/**
 * `bench starts`: the same calls routed by one process after the other, each started as the image
 * starts it, to five destinations each. CPU is that of the whole process, its start included.
 *
 * What it looks for are runs that differ, with nothing that differs in what they do: the slowest one
 * has at least 0.8 of the median's calls a second.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { groupNames, topicNames } from "../src/domain/topics.ts";
import {
  benchKafka,
  createTopics,
  deleteTopics,
  fill,
  forgetGroups,
  newPrefix,
} from "./bench-kafka.ts";
import { type ImageStart, imageStart } from "./image.ts";
import { markdown, median } from "./measure.ts";
import { startProgram } from "./program.ts";
import { benchCall, DESTINATIONS } from "./route-work.ts";

const PARTITIONS = 3;
const LOOK_EVERY_MS = 25;
/** Route posts nothing. */
const URL_OF_NOBODY = "http://127.0.0.1:9/";

interface Run {
  readonly callsPerSecond: number;
  readonly cpuUsPerCall: number;
  readonly peakMb: number;
}

export async function benchStarts(brokers: string, calls: number, starts: number): Promise<string> {
  using image = await imageStart();
  const prefix = newPrefix();
  const runs: Run[] = [];
  try {
    await fillCalls(brokers, prefix, calls);
    for (let start = 1; start <= starts; start += 1) {
      process.stderr.write(`  start ${start}/${starts} ... `);
      const run = await routeAll({ brokers, prefix, calls, image });
      process.stderr.write(`${run.callsPerSecond.toFixed(0)} calls / s\n`);
      runs.push(run);
    }
  } finally {
    await deleteTopics(brokers, prefix);
  }
  const rows = runs.map((run, index) => rowOf(`${index + 1}`, run));
  const middle = (figure: keyof Run) => median(runs.map((run) => run[figure]));
  const callsPerSecond = middle("callsPerSecond");
  const cpuUsPerCall = middle("cpuUsPerCall");
  const table = markdown(
    ["start", "calls / s", "CPU us / call", "peak MB"],
    [...rows, rowOf("median", { callsPerSecond, cpuUsPerCall, peakMb: middle("peakMb") })],
  );
  const slowest = Math.min(...runs.map((run) => run.callsPerSecond)) / callsPerSecond;
  return `${table}\nSlowest against the median: ${slowest.toFixed(2)}\n`;
}

function rowOf(name: string, { callsPerSecond, cpuUsPerCall, peakMb }: Run): string[] {
  return [name, callsPerSecond.toFixed(0), cpuUsPerCall.toFixed(1), peakMb.toFixed(0)];
}

async function fillCalls(brokers: string, prefix: string, calls: number): Promise<void> {
  const kafka = benchKafka(brokers);
  const topic = topicNames(prefix).calls;
  await createTopics(kafka, [topic], PARTITIONS);
  const producer = kafka.producer();
  await fill(producer, calls, (number) => {
    const { key, value } = benchCall(number, "all");
    return { topic, key: Buffer.from(key), value: Buffer.from(value), headers: [] };
  });
  await producer.close(10_000);
  await kafka.close();
}

interface Routing {
  readonly brokers: string;
  readonly prefix: string;
  readonly calls: number;
  readonly image: ImageStart;
}

async function routeAll({ brokers, prefix, calls, image }: Routing): Promise<Run> {
  const [topic, group] = [topicNames(prefix).calls, groupNames(prefix).route];
  const kafka = benchKafka(brokers);
  // A group starts where it left off: each start begins with a new one.
  await forgetGroups(brokers, [[group, topic]]);
  const ids = Array.from({ length: DESTINATIONS }, (_, index) => `d${index + 1}`);
  const destinations = ids.map((id) => ({ id, url: URL_OF_NOBODY }));
  const options = { brokers, topicPrefix: prefix, stages: ["route"], destinations, image };
  const program = await startProgram({ ...options, logLevel: "info" });
  const readyAtMs = performance.now();
  const committed = async () => {
    const offsets = await kafka.admin.committed(group, topic);
    return offsets.reduce((sum, { offset }) => sum + offset, 0);
  };
  while ((await committed()) < calls) await sleep(LOOK_EVERY_MS);
  const tookMs = performance.now() - readyAtMs;
  const run = {
    callsPerSecond: (calls / tookMs) * 1_000,
    cpuUsPerCall: (program.cpuMs() * 1_000) / calls,
    peakMb: program.peakMb(),
  };
  await program.stop();
  await kafka.close();
  return run;
}

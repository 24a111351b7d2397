/**
 * `bench idle`: what destinations cost that have nothing to do: CPU over 30 s and memory of one
 * process with all stages, a plaintext broker and three partitions for each topic.
 *
 * Goals: 1,000 destinations at most 3 % of a core and 350 MB; ten more at most 1 %.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { freePort } from "../tools/kafka/free-port.ts";
import { benchKafka, createTopics, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { markdown } from "./measure.ts";
import { startProgram } from "./program.ts";

const PARTITIONS = 3;
/** Joins and first metadata are over by then. */
const SETTLE_MS = 15_000;
const CREATED_AT_ONCE = 100;

interface Idle {
  readonly cpuPercent: number;
  readonly rssMb: number;
}

export async function benchIdle(
  brokers: string,
  counts: readonly number[],
  seconds: number,
): Promise<string> {
  const topicPrefix = newPrefix();
  const kafka = benchKafka(brokers);
  const ids = Array.from({ length: Math.max(...counts) }, (_, index) => `d${index + 1}`);
  const topics = [`${topicPrefix}calls`, ...ids.map((id) => `${topicPrefix}deliveries.${id}`)];
  for (let from = 0; from < topics.length; from += CREATED_AT_ONCE) {
    await createTopics(kafka, topics.slice(from, from + CREATED_AT_ONCE), PARTITIONS);
  }
  await kafka.close();
  try {
    const rows: string[][] = [];
    for (const count of counts) {
      const { cpuPercent, rssMb } = await measure(
        brokers,
        topicPrefix,
        ids.slice(0, count),
        seconds,
      );
      process.stderr.write(`  ${count}: ${cpuPercent.toFixed(1)} %, ${rssMb.toFixed(0)} MB\n`);
      rows.push([`${count}`, cpuPercent.toFixed(1), rssMb.toFixed(0)]);
    }
    const header = ["idle destinations", "% of a core", "MB"];
    return (
      `${markdown(header, rows)}\n\nOver ${seconds} s. Goals: 1,000 destinations at most 3 % and ` +
      "350 MB, ten more at most 1 %."
    );
  } finally {
    await deleteTopics(brokers, topicPrefix);
  }
}

async function measure(
  brokers: string,
  topicPrefix: string,
  ids: readonly string[],
  seconds: number,
): Promise<Idle> {
  // Nothing is requested there.
  const url = `http://127.0.0.1:${await freePort()}/`;
  const destinations = ids.map((id) => ({ id, url }));
  const stages = ["route", "deliver", "delay"];
  const program = await startProgram({ brokers, topicPrefix, destinations, stages });
  try {
    await sleep(SETTLE_MS);
    const cpuMs = program.cpuMs();
    const startedAtMs = performance.now();
    await sleep(seconds * 1_000);
    const usedMs = program.cpuMs() - cpuMs;
    const cpuPercent = (usedMs / (performance.now() - startedAtMs)) * 100;
    return { cpuPercent, rssMb: program.rssMb() };
  } finally {
    await program.stop();
  }
}

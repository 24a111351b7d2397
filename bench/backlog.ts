/**
 * `bench backlog`: memory of `switchyard run` while it works a backlog off, with all stages in one
 * process and one destination whose receiver answers at once. It has to stay flat, and below 350 MB.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { benchKafka, createTopics, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import { markdown } from "./measure.ts";
import { startProgram } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const SAMPLE_MS = 500;
/** Beyond that, nothing comes any more. */
const STALLED_MS = 60_000;

interface Sample {
  /** Deliveries that the receiver has answered. */
  readonly delivered: number;
  readonly rssMb: number;
}

export async function benchBacklog(brokers: string, calls: number): Promise<string> {
  const topicPrefix = newPrefix();
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [`${topicPrefix}calls`], PARTITIONS);
  const producer = kafka.producer();
  await fill(producer, calls, (number) => {
    const { key, value } = benchCall(number, "all");
    const topic = `${topicPrefix}calls`;
    return { topic, key: Buffer.from(key), value: Buffer.from(value), headers: [] };
  });
  await producer.close(10_000);
  await kafka.close();
  using receiver = await startReceiver();
  const destinations = [{ id: "d1", url: `http://127.0.0.1:${receiver.port}/`, concurrency: 64 }];
  const stages = ["route", "deliver", "delay"];
  const startedAtMs = Date.now();
  const program = await startProgram({ brokers, topicPrefix, destinations, stages });
  try {
    const samples: Sample[] = [];
    let movedAtMs = Date.now();
    for (let delivered = 0; delivered < calls; ) {
      await sleep(SAMPLE_MS);
      const rssMb = (await program.metric("process_resident_memory_bytes")) / 2 ** 20;
      const before = delivered;
      delivered = await receiver.count();
      samples.push({ delivered, rssMb });
      if (delivered > before) movedAtMs = Date.now();
      if (Date.now() - movedAtMs > STALLED_MS) throw new Error(`it stands still at ${delivered}`);
      if (samples.length % 20 === 0) {
        process.stderr.write(`  ${delivered} of ${calls} delivered, ${rssMb.toFixed(0)} MB\n`);
      }
    }
    const cpuS = await program.metric("process_cpu_seconds_total");
    const wallS = (Date.now() - startedAtMs) / 1_000;
    const cells = [0.1, 0.5, 1].map((share) => `${Math.round(rssAt(samples, share * calls))}`);
    const most = Math.max(...samples.map(({ rssMb }) => rssMb)).toFixed(0);
    return markdown(
      [
        "calls",
        "MB at 10 %",
        "MB at 50 %",
        "MB at 100 %",
        "most MB",
        "calls / s",
        "CPU ms / 1,000",
      ],
      [[`${calls}`, ...cells, most, (calls / wallS).toFixed(0), ((cpuS / calls) * 1e6).toFixed(1)]],
    );
  } finally {
    await program.stop();
    await deleteTopics(brokers, topicPrefix);
  }
}

function rssAt(samples: readonly Sample[], delivered: number): number {
  return samples.find((sample) => sample.delivered >= delivered)?.rssMb ?? Number.NaN;
}

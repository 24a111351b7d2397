/**
 * `bench product`: `switchyard run` as people run it: a process started as the image starts it, with
 * all its stages, from the topic `calls` to a receiver, at log level info, with its log read from a
 * pipe. Beside it the same requests by `undici.request` without Kafka and without Switchyard.
 *
 * What it gives are ratios, each of two that ran in the same round:
 *
 *   ratio                                     goal
 *   undici.request to ours, each payload      at least 1.2
 *   `payload: full` to `standard`             at most 1.1
 *   log level info to warn                    at most 1.08
 *   route and deliver to deliver alone        at most 1.35
 */

import type { DestinationId } from "../src/domain/ids.ts";
import { groupNames, type TopicNames, topicNames } from "../src/domain/topics.ts";
import {
  benchKafka,
  createTopics,
  deleteTopics,
  fill,
  forgetGroups,
  newPrefix,
} from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { type ImageStart, imageStart } from "./image.ts";
import { untilCount } from "./isolation-run.ts";
import { type Measured, markdown, median, perThousand, runOnce, summarise } from "./measure.ts";
import { productCall } from "./product-work.ts";
import { startProgram } from "./program.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const IN_FLIGHT = 64;
/** V8 still compiles after 20,000. */
const WARM_UP = 100_000;
const MEASURED = 100_000;
const TOTAL = WARM_UP + MEASURED;

interface Turn {
  readonly name: string;
  readonly run: () => Promise<Measured>;
}

interface Way {
  readonly stages?: readonly string[];
  readonly payload?: "standard" | "full";
  readonly logLevel?: "info" | "warn";
}

export async function benchProduct(brokers: string, rounds: number): Promise<string> {
  using image = await imageStart();
  using receiver = await startReceiver();
  // What route writes is read by deliver in the same turn. Deliver alone has topics of its own.
  const [whole, alone] = [topicNames(newPrefix()), topicNames(newPrefix())];
  try {
    await fillCalls(brokers, whole);
    await fillDeliveries(brokers, alone);
    const ours = (name: string, way: Way): Turn => {
      const topics = way.stages === undefined ? whole : alone;
      return { name, run: () => turn(brokers, topics, way, { image, receiver }) };
    };
    const ceiling = (name: string, payload: string): Turn => ({
      name,
      run: async () => {
        await receiver.reset();
        const url = `http://127.0.0.1:${receiver.port}/d1`;
        const work = [`${IN_FLIGHT}`, `${MEASURED}`, `${WARM_UP}`];
        const argv = ["bench/deliver-ceiling.ts", ...work, `--product=${payload}`, url];
        return await runOnce({ name, argv, nodeFlags: [] });
      },
    });
    const turns: readonly Turn[] = [
      ceiling("undici.request", "standard"),
      ours("all stages", {}),
      ours("all stages, log level warn", { logLevel: "warn" }),
      ours("deliver alone", { stages: ["deliver"] }),
      ceiling("undici.request, full payload", "full"),
      ours("all stages, full payload", { payload: "full" }),
    ];
    const results = await inTurns(turns, rounds);
    return `${figures(results)}\n\n${ratios(results)}`;
  } finally {
    await deleteTopics(brokers, whole.prefix);
    await deleteTopics(brokers, alone.prefix);
  }
}

async function inTurns(turns: readonly Turn[], rounds: number): Promise<Map<string, Measured[]>> {
  const results = new Map(turns.map(({ name }) => [name, [] as Measured[]]));
  for (let round = 1; round <= rounds; round += 1) {
    // The order turns each time: the first one finds the machine as others left it.
    for (const { name, run } of round % 2 === 1 ? turns : turns.toReversed()) {
      process.stderr.write(`  round ${round}/${rounds}: ${name} ... `);
      const measured = await run();
      process.stderr.write(`${perThousand(measured).toFixed(2)} ms CPU per 1,000\n`);
      results.get(name)?.push(measured);
    }
  }
  return results;
}

function figures(results: ReadonlyMap<string, readonly Measured[]>): string {
  const rows = [...results].map(([name, measured]) => {
    const { cpuMsPerThousand, unitsPerSecond, rssMaxMb } = summarise(name, measured);
    return [name, cpuMsPerThousand.toFixed(1), unitsPerSecond.toFixed(0), rssMaxMb.toFixed(0)];
  });
  return markdown(["contestant", "CPU ms / 1,000", "deliveries / s", "peak MB"], rows);
}

const RATIOS = [
  ["undici.request", "all stages", "at least 1.2"],
  ["undici.request, full payload", "all stages, full payload", "at least 1.2"],
  ["undici.request", "deliver alone", "at least 1.2"],
  ["all stages, full payload", "all stages", "at most 1.1"],
  ["all stages", "all stages, log level warn", "at most 1.08"],
  ["all stages", "deliver alone", "at most 1.35"],
] as const;

/** Of each round, so that what moves the whole machine moves none of them. */
function ratios(results: ReadonlyMap<string, readonly Measured[]>): string {
  const rows = RATIOS.map(([over, under, goal]) => {
    const below = results.get(under) ?? [];
    const each = (results.get(over) ?? []).map((measured, round) => {
      const other = below[round];
      return other === undefined ? Number.NaN : perThousand(measured) / perThousand(other);
    });
    const range = `${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)}`;
    return [`${over} / ${under}`, median(each).toFixed(2), range, goal];
  });
  return markdown(["ratio of CPU", "median", "of the rounds", "goal"], rows);
}

async function turn(
  brokers: string,
  topics: TopicNames,
  { stages, payload = "standard", logLevel = "info" }: Way,
  { image, receiver }: { readonly image: ImageStart; readonly receiver: Receiver },
): Promise<Measured> {
  const groups = groupNames(topics.prefix);
  const d1 = "d1" as DestinationId;
  // Where it routes, deliver has read what route wrote before.
  const read = [groups.route, topics.calls] as const;
  const delivered = [groups.deliver(d1), topics.deliveries(d1)] as const;
  await forgetGroups(brokers, [stages === undefined ? read : delivered]);
  await receiver.reset();
  const url = `http://127.0.0.1:${receiver.port}/d1`;
  const program = await startProgram({
    brokers,
    topicPrefix: topics.prefix,
    destinations: [{ id: d1, url, payload, concurrency: IN_FLIGHT }],
    logLevel,
    image,
    ...(stages === undefined ? {} : { stages }),
  });
  try {
    await untilCount(receiver, WARM_UP);
    const from = { cpuMs: program.cpuMs(), units: await receiver.count(), atMs: performance.now() };
    await untilCount(receiver, TOTAL);
    const cpuMs = program.cpuMs() - from.cpuMs;
    const wallMs = performance.now() - from.atMs;
    const rssMaxMb = (await program.metric("process_resident_memory_bytes")) / 2 ** 20;
    return { units: TOTAL - from.units, cpuMs, wallMs, rssMaxMb };
  } finally {
    await program.stop();
  }
}

async function fillCalls(brokers: string, topics: TopicNames): Promise<void> {
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [topics.calls], PARTITIONS);
  const producer = kafka.producer();
  await fill(producer, TOTAL, (number) => {
    const { key, value } = productCall(number);
    return { topic: topics.calls, key: Buffer.from(key), value: Buffer.from(value), headers: [] };
  });
  await producer.close(10_000);
  await kafka.close();
}

async function fillDeliveries(brokers: string, topics: TopicNames): Promise<void> {
  const kafka = benchKafka(brokers);
  const topic = topics.deliveries("d1" as DestinationId);
  await createTopics(kafka, [topic], PARTITIONS);
  const producer = kafka.producer();
  await fill(producer, TOTAL, (number) => benchDelivery(topic, 0, number, productCall(number)));
  await producer.close(10_000);
  await kafka.close();
}

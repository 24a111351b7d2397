/**
 * `bench tracing`: deliver at full speed, without traces and with them, where 1 % are kept. With
 * traces each record names its trace, as ingest writes it: deliver looks at all of them.
 *
 * The ratio is to the first row; the goal is at most 1.05. The collector takes spans in the process
 * that measures, so its work is not counted.
 */

import { traceHeaders } from "../src/domain/trace-context.ts";
import { startOtlpCollector } from "../test/support/servers/otlp-collector.ts";
import {
  benchKafka,
  createTopics,
  deleteTopics,
  fill,
  forgetGroups,
  newPrefix,
} from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { type Contestant, costTable, measureInTurns, summarise } from "./measure.ts";
import { startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const IN_FLIGHT = 64;
const WARM_UP = 60_000;
const REQUESTS = 60_000;
/** Of a hundred. */
const KEPT = 1;

export async function benchTracing(brokers: string, rounds: number): Promise<string> {
  const prefixes = { plain: newPrefix(), traced: newPrefix() };
  const all = Object.values(prefixes);
  try {
    await prepare(brokers, prefixes.plain, false);
    await prepare(brokers, prefixes.traced, true);
    await using collector = await startOtlpCollector();
    using receiver = await startReceiver(0, { atOnce: WARM_UP });
    const work = [`${IN_FLIGHT}`, `${REQUESTS}`, `${WARM_UP}`, "warn"];
    const url = `http://127.0.0.1:${receiver.port}/d1`;
    const argv = (prefix: string) => [
      "bench/deliver-switchyard.ts",
      ...[brokers, prefix, ...work, url],
    ];
    const contestants: Contestant[] = [
      { name: "no traces", argv: argv(prefixes.plain) },
      { name: "no traces, records name one", argv: argv(prefixes.traced) },
      {
        name: `${KEPT} % of traces kept`,
        argv: argv(prefixes.traced),
        env: { BENCH_TRACES: collector.url },
      },
    ];
    const groups = all.map((prefix) => [`${prefix}deliver.d1`, `${prefix}deliveries.d1`] as const);
    const results = await measureInTurns(contestants, rounds, async () => {
      await receiver.reset();
      await forgetGroups(brokers, groups);
    });
    const rows = contestants.map(({ name }) => summarise(name, results.get(name) ?? []));
    const table = costTable("deliver", rows);
    return `${table}\n\nSpans that the collector took: ${collector.spans.length}.`;
  } finally {
    for (const prefix of all) await deleteTopics(brokers, prefix);
  }
}

async function prepare(brokers: string, prefix: string, isTraced: boolean): Promise<void> {
  const kafka = benchKafka(brokers);
  const topic = `${prefix}deliveries.d1`;
  await createTopics(kafka, [topic, `${prefix}delays.1s`, `${prefix}dead-letters`], PARTITIONS);
  await createTopics(kafka, [`${prefix}retries.d1`], 1);
  const producer = kafka.producer();
  await fill(producer, WARM_UP + REQUESTS, (number) => {
    const delivery = benchDelivery(topic, 0, number);
    if (!isTraced) return delivery;
    return { ...delivery, headers: [...traceOfCall(number), ...delivery.headers] };
  });
  await producer.close(10_000);
  await kafka.close();
}

function traceOfCall(number: number) {
  const id = (number + 1).toString(16);
  const [traceId, spanId] = [id.padStart(32, "0"), id.padStart(16, "0")];
  return traceHeaders({ traceId, spanId, isSampled: number % 100 < KEPT, state: null });
}

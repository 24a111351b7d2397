/**
 * `bench batch`: delivers calls of 1 KB to a keep-alive receiver in a separate process, with 1, 10, 100 and 1,000 calls
 * per request. Compares this with sending the same bodies with `undici.request`, without Kafka and without Switchyard.
 *
 * Calls are counted. The goal is that with 100 calls per request, a delivery takes at most a quarter of the CPU that it
 * takes alone. The rest is for reading the call from Kafka and writing its JSON.
 */

import { type Contestant, markdown, measureContestants, type Summary } from "./measure.ts";
import { startReceiver } from "./receiver.ts";
import { benchDelivery } from "./work.ts";
import { Workbench } from "./workbench.ts";

/** After 20,000 calls, V8 is still compiling. */
const WARM_UP = 60_000;
const CALLS = 120_000;
/**
 * With larger batches, fewer requests are sent at a time, so that the records in flight stay within the limit of a
 * consumer.
 */
const SIZES = [
  { calls: 1, inFlight: 64 },
  { calls: 10, inFlight: 32 },
  { calls: 100, inFlight: 8 },
  { calls: 1_000, inFlight: 2 },
] as const;

export async function benchBatch(brokers: string, rounds: number): Promise<string> {
  await using bench = new Workbench(brokers);
  const topic = bench.deliveries("d1");
  await bench.create([topic]);
  await bench.createForDeliver("d1");
  await bench.fill(WARM_UP + CALLS, (number) => benchDelivery(topic, 0, number));
  using receiver = await startReceiver();
  const contestants = SIZES.flatMap(({ calls, inFlight }): readonly Contestant[] => {
    const work = [inFlight, CALLS, WARM_UP, receiver.url].map(String);
    const batch = calls === 1 ? [] : [`${calls}`];
    const ours = [...work, brokers, bench.topics.prefix, "warn", ...batch];
    return [
      {
        name: nameOf("undici.request", calls),
        argv: ["bench/deliver-ceiling.ts", ...work, "single", ...batch],
      },
      { name: nameOf("Switchyard", calls), argv: ["bench/deliver-switchyard.ts", ...ours] },
    ];
  });
  const summaries = await measureContestants(contestants, rounds, async () => {
    await receiver.reset();
    await bench.forgetGroups([`${bench.topics.prefix}deliver.d1`, topic]);
  });
  return table(new Map(summaries.map((summary) => [summary.name, summary])));
}

function nameOf(contestant: string, calls: number): string {
  return `${contestant}, ${calls} a request`;
}

/** A CPU time in milliseconds per thousand calls is the same number of microseconds per call. */
function table(summaries: ReadonlyMap<string, Summary>): string {
  const cpu = (contestant: string, calls: number) =>
    summaries.get(nameOf(contestant, calls))?.cpuMsPerThousand ?? Number.NaN;
  const rows = SIZES.flatMap(({ calls }) =>
    ["undici.request", "Switchyard"].map((contestant) => {
      const summary = summaries.get(nameOf(contestant, calls));
      const own = cpu(contestant, calls);
      return {
        "calls / request": `${calls}`,
        program: contestant,
        "CPU µs / delivery": own.toFixed(2),
        "ratio to single": (own / cpu(contestant, 1)).toFixed(2),
        "ratio to undici": (own / cpu("undici.request", calls)).toFixed(2),
        "deliveries / s": (summary?.unitsPerSecond ?? Number.NaN).toFixed(0),
        "peak MB": (summary?.rssMaxMb ?? Number.NaN).toFixed(0),
      };
    }),
  );
  return markdown(rows);
}

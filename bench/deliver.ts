/**
 * `bench deliver`: sends signed webhooks of 1 KB calls to a keep-alive receiver in a separate process. Compares this
 * with sending the same requests with `undici.request`, without Kafka and without Switchyard.
 *
 * The ratio is the ceiling's CPU per request divided by ours. Larger is better; 1 would mean that Kafka and Switchyard
 * cost nothing. The goal is at least 0.9 of `undici.request` with default flags, at log level warn; at level info,
 * there is a log line for each attempt. A second ceiling runs with Switchyard's V8 flags (decision 0007), which make it
 * faster as well. Through a forward proxy, which runs in the process of the bench, a request may take at most 1.15 times
 * the CPU of a direct one.
 */

import { forwardProxy } from "../test/support/servers/forward-proxy.ts";
import { type Contestant, markdown, measureContestants, type Summary } from "./measure.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { benchDelivery } from "./work.ts";
import { Workbench } from "./workbench.ts";

const IN_FLIGHT = 64;
/** After 20,000 requests, V8 is still compiling. A process does this once, and then runs for weeks. */
const WARM_UP = 60_000;
const REQUESTS = 60_000;

export async function benchDeliver(brokers: string, rounds: number): Promise<string> {
  await using bench = new Workbench(brokers);
  using receiver = await startReceiver();
  const { work, ours, reset } = await prepareDeliver(bench, receiver);
  await using proxy = await forwardProxy();
  const ceiling = { name: "undici.request", argv: ["bench/deliver-ceiling.ts", ...work] };
  const flagged = { ...ceiling, name: "undici.request with our V8 flags" };
  const contestants = [{ ...ceiling, nodeFlags: [] }, flagged, ours("warn"), ours("info")];
  contestants.push(ours("warn", "through a proxy", proxy.url));
  return table(await measureContestants(contestants, rounds, reset));
}

/** Writes the deliveries, and returns the contestants. */
export async function prepareDeliver(bench: Workbench, receiver: Receiver, requests = REQUESTS) {
  const topic = bench.deliveries("d1");
  await bench.create([topic, bench.topics.ledger]);
  await bench.createForDeliver("d1");
  await bench.fill(WARM_UP + requests, (number) => benchDelivery(topic, 0, number));
  const work = [IN_FLIGHT, requests, WARM_UP, receiver.url].map(String);
  const ours = (level: string, how?: string, argument = how): Contestant => ({
    name: `Switchyard, log level ${level}${how === undefined ? "" : `, ${how}`}`,
    argv: [
      ...["bench/deliver-switchyard.ts", ...work, bench.brokers, bench.topics.prefix, level],
      ...(argument === undefined ? [] : [argument]),
    ],
  });
  const reset = async () => {
    await receiver.reset();
    await bench.forgetGroups([`${bench.topics.prefix}deliver.d1`, topic]);
  };
  return { work, ours, reset };
}

function table(summaries: readonly Summary[]): string {
  const ratio = (to: number, cpuMsPerThousand: number) =>
    ((summaries[to]?.cpuMsPerThousand ?? Number.NaN) / cpuMsPerThousand).toFixed(2);
  return markdown(
    summaries.map(({ name, cpuMsPerThousand, unitsPerSecond, rssMaxMb }) => ({
      destinations: "1",
      receiver: "0 ms",
      program: name,
      "CPU ms / 1,000": cpuMsPerThousand.toFixed(1),
      ratio: ratio(0, cpuMsPerThousand),
      "ratio to flags": ratio(1, cpuMsPerThousand),
      "requests / s": unitsPerSecond.toFixed(0),
      "peak MB": rssMaxMb.toFixed(0),
    })),
  );
}

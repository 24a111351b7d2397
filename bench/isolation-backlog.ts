/**
 * `bench isolation-backlog`: measures whether the backlog of one destination delays single records of another.
 *
 * Calls for the second destination are written one at a time, before and while the same process delivers the backlog of
 * the first destination at full speed. A record that had to wait for the backlog would take as long as the whole
 * backlog. The remaining difference is that both share a core.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { markdown, quantile } from "./measure.ts";
import { PIPELINE } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { benchDelivery, idOf } from "./work.ts";
import { Workbench } from "./workbench.ts";

const BACKLOG = 1_000_000;
const SINGLES = 100;
const SPACED_MS = 100;
const WARM_UP = 10;

export async function benchIsolationBacklog(brokers: string): Promise<string> {
  await using bench = new Workbench(brokers);
  const busy = bench.deliveries("d1");
  await bench.create([busy]);
  await bench.create([bench.deliveries("d2")], { isStamped: true });
  using busyReceiver = await startReceiver();
  using singleReceiver = await startReceiver({ journal: true });
  const destinations = [busyReceiver, singleReceiver].map(({ url }, index) => {
    return { id: idOf(index), url, concurrency: 64 };
  });
  await using _program = await bench.start({ destinations, stages: PIPELINE });
  const alone = await postSingles(bench, singleReceiver, 0);
  const filling = bench.fill(BACKLOG, (number) => benchDelivery(busy, 0, number));
  await busyReceiver.untilCount(1);
  await filling;
  const before = await busyReceiver.count();
  const startedAtMs = performance.now();
  const beside = await postSingles(bench, singleReceiver, WARM_UP + SINGLES);
  const after = await busyReceiver.count();
  const perSecond = ((after - before) * 1_000) / (performance.now() - startedAtMs);
  const rows = [row("idle", alone), row(`has a backlog of ${BACKLOG - before}`, beside)];
  return (
    `${markdown(rows)}\n\nThe backlog was worked off at ${perSecond.toFixed(0)} ` +
    `deliveries a second meanwhile; ${BACKLOG - after} were left at the end.`
  );
}

function row(title: string, latencies: readonly number[]) {
  const ms = (share: number) => quantile(latencies, share).toFixed(1);
  return {
    "the other destination": title,
    records: `${latencies.length}`,
    "median ms": ms(0.5),
    "p99 ms": ms(0.99),
    "max ms": ms(1),
  };
}

/** Returns the latencies from append to receipt, except those of the warm-up. */
async function postSingles(
  bench: Workbench,
  receiver: Receiver,
  from: number,
): Promise<readonly number[]> {
  const topic = bench.deliveries("d2");
  const numbers = Array.from({ length: WARM_UP + SINGLES }, (_, at) => from + at);
  for (const number of numbers) {
    await bench.send([benchDelivery(topic, 1, number)]);
    await sleep(SPACED_MS);
  }
  await receiver.untilCount(from + numbers.length);
  const appended = await bench.appends(topic);
  const arrived = new Map(await receiver.journal());
  return numbers.slice(WARM_UP).map((number) => {
    const messageId = `bench-${number}`;
    return (arrived.get(messageId) ?? Number.NaN) - (appended.get(messageId) ?? Number.NaN);
  });
}

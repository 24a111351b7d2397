/**
 * `bench deliver-memory`: the memory of one process with 100 destinations. One of them has a backlog of ten million
 * records, and the others get a few records at a time.
 *
 * The endpoint of the backlog first responds immediately, then after 200 ms, so that records which have been fetched
 * wait in memory, and then with 503 to every request. Goal: at most 400 MB.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { markdown } from "./measure.ts";
import { PIPELINE, type Program } from "./program.ts";
import { startReceiver } from "./receiver.ts";
import { benchDelivery, idOf } from "./work.ts";
import { Workbench } from "./workbench.ts";

const DESTINATIONS = 100;
const BACKLOG = 10_000_000;
const SECONDS = 60;
const STEP_MS = 500;
const ENDPOINTS = [
  { title: "answers at once" },
  { title: "takes 200 ms", delayMs: 200 },
  { title: "503 to everything", failEvery: 1 },
] as const;

export async function benchDeliverMemory(brokers: string): Promise<string> {
  await using bench = new Workbench(brokers);
  const ids = Array.from({ length: DESTINATIONS }, (_, index) => idOf(index));
  const [busy = "", ...others] = ids.map((id) => bench.deliveries(id));
  await bench.create([busy, ...others]);
  // These are created once: creating them ten million times would take longer than writing them.
  const records = Array.from({ length: 1_000 }, (_, number) => benchDelivery(busy, 0, number));
  const sample = benchDelivery(busy, 0, 0);
  await bench.fill(BACKLOG, (number) => records[number % records.length] ?? sample);
  using healthy = await startReceiver();
  const rows: Readonly<Record<string, string>>[] = [];
  for (const { title, ...endpoint } of ENDPOINTS) {
    using receiver = await startReceiver(endpoint);
    const destinations = ids.map((id, index) => {
      return { id, url: (index === 0 ? receiver : healthy).url };
    });
    await using program = await bench.start({ destinations, stages: PIPELINE });
    const startedAtMs = performance.now();
    const most = await watch(bench, program, others);
    const perSecond = ((await receiver.count()) * 1_000) / (performance.now() - startedAtMs);
    rows.push({
      "endpoint of the backlog": title,
      "most MB": most.toFixed(0),
      "requests to it / s": perSecond.toFixed(0),
    });
  }
  return (
    `${markdown(rows)}\n\n${DESTINATIONS} destinations, a backlog of ${BACKLOG} records ` +
    `of 1 KB on one, ${SECONDS} s each. Goal: at most 400 MB.`
  );
}

/**
 * Writes one record at a time for each other destination. Resolves with the highest memory use that was measured, in
 * MB.
 */
async function watch(bench: Workbench, program: Program, others: readonly string[]) {
  let most = 0;
  const endAtMs = performance.now() + SECONDS * 1_000;
  for (let number = 0; performance.now() < endAtMs; number += 1) {
    await bench.send(others.map((topic, at) => benchDelivery(topic, at + 1, number)));
    await sleep(STEP_MS);
    most = Math.max(most, program.rssMb());
  }
  return most;
}

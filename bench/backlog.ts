/**
 * `bench backlog`: the memory of `switchyard run` while it processes a backlog, with all stages in one process and one
 * destination whose receiver responds immediately. The memory must not grow, and must stay below 350 MB.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { markdown } from "./measure.ts";
import { PIPELINE } from "./program.ts";
import { startReceiver } from "./receiver.ts";
import { callRecord, webhooksAt } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const CALLS = 1_000_000;
const SAMPLE_MS = 500;
/** If nothing arrives for this time, no more deliveries are expected. */
const STALLED_MS = 60_000;

interface Sample {
  /** The number of deliveries to which the receiver has responded. */
  readonly delivered: number;
  readonly rssMb: number;
}

export async function benchBacklog(brokers: string): Promise<string> {
  await using bench = new Workbench(brokers);
  const { calls } = bench.topics;
  await bench.create([calls]);
  await bench.fill(CALLS, (number) => callRecord(calls, number));
  using receiver = await startReceiver();
  const destinations = webhooksAt(receiver.url, 1);
  const startedAtMs = Date.now();
  await using program = await bench.start({ destinations, stages: PIPELINE });
  const samples: Sample[] = [];
  let movedAtMs = Date.now();
  for (let delivered = 0; delivered < CALLS; ) {
    await sleep(SAMPLE_MS);
    const before = delivered;
    delivered = await receiver.count();
    samples.push({ delivered, rssMb: program.rssMb() });
    if (delivered > before) movedAtMs = Date.now();
    if (Date.now() - movedAtMs > STALLED_MS)
      throw new Error(`no progress for a minute: ${delivered} were delivered`);
    if (samples.length % 20 === 0) report(`  ${delivered} of ${CALLS} delivered`);
  }
  const wallS = (Date.now() - startedAtMs) / 1_000;
  return table(samples, program.cpuMs(), wallS);
}

function table(samples: readonly Sample[], cpuMs: number, wallS: number): string {
  const mbAt = (share: number) =>
    samples.find(({ delivered }) => delivered >= share * CALLS)?.rssMb.toFixed(0) ?? "";
  return markdown([
    {
      calls: `${CALLS}`,
      "MB at 10 %": mbAt(0.1),
      "MB at 50 %": mbAt(0.5),
      "MB at 100 %": mbAt(1),
      "most MB": Math.max(...samples.map(({ rssMb }) => rssMb)).toFixed(0),
      "calls / s": (CALLS / wallS).toFixed(0),
      "CPU ms / 1,000": ((cpuMs / CALLS) * 1_000).toFixed(1),
    },
  ]);
}

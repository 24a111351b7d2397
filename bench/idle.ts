/**
 * `bench idle`: the cost of idle destinations: the CPU over 30 s and the memory of one process with all stages, a
 * plaintext broker and three partitions per topic.
 *
 * Goals: 1,000 destinations take at most 3 % of a core and 350 MB; ten more destinations take at most 1 %.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { freePort } from "../tools/kafka/free-port.ts";
import { markdown } from "./measure.ts";
import { PIPELINE, percentOfCore } from "./program.ts";
import { idOf, webhooksAt } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const COUNTS = [10, 1_000, 1_010, 3_000];
/** By then, the consumers have joined and have their first metadata. */
const SETTLE_MS = 15_000;
const IDLE_MS = 30_000;

export async function benchIdle(brokers: string): Promise<string> {
  await using bench = new Workbench(brokers);
  const ids = Array.from({ length: Math.max(...COUNTS) }, (_, index) => idOf(index));
  await bench.create([bench.topics.calls, ...ids.map((id) => bench.deliveries(id))]);
  // No request is sent to this address.
  const url = `http://127.0.0.1:${await freePort()}/`;
  const rows: Readonly<Record<string, string>>[] = [];
  for (const count of COUNTS) {
    const destinations = webhooksAt(url, count);
    await using program = await bench.start({ destinations, stages: PIPELINE });
    await sleep(SETTLE_MS);
    const cpu = (await percentOfCore(program, IDLE_MS)).toFixed(1);
    const mb = program.rssMb().toFixed(0);
    report(`  ${count}: ${cpu} %, ${mb} MB`);
    rows.push({ "idle destinations": `${count}`, "% of a core": cpu, MB: mb });
  }
  return (
    `${markdown(rows)}\n\nOver ${IDLE_MS / 1_000} s. Goals: 1,000 destinations at most 3 % and ` +
    "350 MB, ten more at most 1 %."
  );
}

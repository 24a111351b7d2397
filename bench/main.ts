/** `npm run bench -- NAME [--rounds N] [--write]`: runs benches on a local Kafka, prints tables. */

import { parseArgs } from "node:util";

import { startKafka } from "../tools/kafka/start.ts";
import { benchDeliver } from "./deliver.ts";
import { conditions } from "./measure.ts";
import { benchRoute } from "./route.ts";

const BENCHES: Readonly<Record<string, (brokers: string, rounds: number) => Promise<string>>> = {
  deliver: (brokers, rounds) =>
    benchDeliver(brokers, [{ destinations: 1, receiverDelayMs: 0, requests: 60_000 }], rounds),
  route: (brokers, rounds) => benchRoute(brokers, { calls: 60_000, rounds }),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "3" } },
});
const names = positionals.length === 0 ? Object.keys(BENCHES) : positionals;
await using kafka = await startKafka({ log: (line) => process.stderr.write(`${line}\n`) });
process.stdout.write(`${conditions()}\n`);
for (const name of names) {
  const bench = BENCHES[name];
  if (bench === undefined) {
    throw new Error(`there is no bench ${name}; there are ${Object.keys(BENCHES).join(", ")}`);
  }
  process.stdout.write(`\n## ${name}\n\n`);
  process.stdout.write(`${await bench(kafka.brokers.join(","), Number(values.rounds))}\n`);
}

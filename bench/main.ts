/**
 * `npm run bench -- [NAME...|all] [--rounds N] [--long] [--write]`: runs benches on a local Kafka, and prints tables.
 * Without a name, lists the benches. For `against COMMIT [NAME...]`, see against.ts.
 */

import { parseArgs } from "node:util";

import { startKafka } from "../tools/kafka/start.ts";
import { benchAgainst, presentCommit } from "./against.ts";
import { benchAudience } from "./audience.ts";
import { benchAudit } from "./audit.ts";
import { benchCluster } from "./cluster.ts";
import { benchDeliver } from "./deliver.ts";
import { benchDestinations, benchDestinationsCluster } from "./destinations.ts";
import { benchEveryday } from "./everyday.ts";
import { benchIngest } from "./ingest.ts";
import { benchIsolation } from "./isolation.ts";
import { benchIsolationCluster } from "./isolation-cluster.ts";
import { conditions } from "./measure.ts";
import { benchOrder } from "./order.ts";
import { benchPeers } from "./peers/peers.ts";
import { benchProduct } from "./product.ts";
import { writeResult } from "./results.ts";
import { benchRoute } from "./route.ts";
import { benchRouterIsolation } from "./router-isolation.ts";
import { benchStarts } from "./starts.ts";
import { benchSuppression } from "./suppression.ts";

interface Bench {
  readonly says: string;
  readonly minutes: number;
  /** The number of rounds without `--rounds`. If absent, `ROUNDS`. */
  readonly rounds?: number;
  /** If 3, the bench starts the brokers itself. By default, all benches share one broker. */
  readonly brokers?: 3;
  readonly run: (brokers: string, rounds: number) => Promise<string>;
}

const ROUNDS = 3;
/** How often each of the two commits is measured. With fewer rounds, the effect of chance would be unknown. */
const AGAINST_ROUNDS = 5;
/** The benches that run if no names are given: a change to the path of a call can make these slower. */
const AGAINST_NAMES = ["route", "deliver", "product", "ingest"];

/** The benches, in the order in which their results are in `RESULTS.md`. */
const BENCHES: Readonly<Record<string, Bench>> = {
  product: {
    says: "the whole product, from `calls` to the receiver, started as in the image",
    minutes: 7,
    rounds: 5,
    run: benchProduct,
  },
  everyday: {
    says: "the same under a light load: latency and CPU of the first two minutes, and of a start",
    minutes: 4,
    run: (brokers, rounds) => benchEveryday(brokers, { rounds, isLong: values.long }),
  },
  route: {
    says: "CPU per call, compared with a kafkajs loop that makes the same copies",
    minutes: 1.5,
    run: benchRoute,
  },
  starts: {
    says: "route, started as in the image, once per round: how similar the runs are",
    minutes: 1.5,
    rounds: 20,
    run: benchStarts,
  },
  deliver: {
    says: "CPU per request to one destination, compared with undici alone",
    minutes: 1.5,
    run: benchDeliver,
  },
  ingest: {
    says: "gzipped batches over HTTP, compared with a bare node:http server and with producing",
    minutes: 1.5,
    run: benchIngest,
  },
  audience: {
    says: "syncs of a million members: the first, an identical one, and one with 2 % changes",
    minutes: 2,
    run: (brokers) => benchAudience(brokers, 1_000_000),
  },
  "audience-10m": {
    says: "the same with ten million members",
    minutes: 20,
    run: (brokers) => benchAudience(brokers, 10_000_000),
  },
  suppression: {
    says: "one million suppressed users: memory, start and lookups, and the time until the last attempt",
    minutes: 2,
    run: benchSuppression,
  },
  order: {
    says: "what a strict order costs: the p99 of other users, CPU, and users whose calls wait",
    minutes: 8,
    rounds: 3,
    run: benchOrder,
  },
  audit: {
    says: "CPU of route and deliver with a ledger, audits of a day, and of calls that are missing",
    minutes: 8,
    rounds: 10,
    run: benchAudit,
  },
  isolation: {
    says: "how a failing destination affects the p99 of nine others, for six kinds of failure",
    minutes: 19,
    rounds: 3,
    run: (brokers, rounds) =>
      benchIsolation(brokers, { destinations: 10, calls: 4_000, seconds: 15, rounds }),
  },
  "isolation-1000": {
    says: "the same with 1,000 destinations",
    minutes: 21,
    rounds: 3,
    run: (brokers, rounds) =>
      benchIsolation(brokers, { destinations: 1_000, calls: 4_000, seconds: 20, rounds }),
  },
  "isolation-cluster": {
    says: "the same on three brokers, with partitions that have no leader",
    minutes: 5.5,
    rounds: 2,
    brokers: 3,
    run: (_brokers, rounds) =>
      benchIsolationCluster({ destinations: 10, calls: 3_000, seconds: 16, rounds }),
  },
  destinations: {
    says: "CPU of a delivery with 1,000 destinations, compared with 10, and CPU when idle",
    minutes: 5,
    rounds: 12,
    run: benchDestinations,
  },
  "destinations-cluster": {
    says: "the same on three brokers",
    minutes: 6,
    rounds: 12,
    brokers: 3,
    run: (_brokers, pairs) => benchDestinationsCluster(pairs),
  },
  cluster: {
    says: "one, two and four processes on three brokers: CPU, balance, waits during a rollout",
    minutes: 5,
    rounds: 1,
    brokers: 3,
    run: benchCluster,
  },
  peers: {
    says: "the deliver stage, compared with loops, Kafka Streams and Camel",
    minutes: 14,
    rounds: 1,
    run: benchPeers,
  },
  "router-isolation": {
    says: "200,000 waiting deliveries for 10 to 1,000 destinations, a tenth of them failing",
    minutes: 8,
    rounds: 1,
    run: benchRouterIsolation,
  },
};
const names = Object.keys(BENCHES);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string" },
    write: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help || positionals.length === 0) {
  process.stdout.write(help());
  process.exit(0);
}
const isAgainst = positionals[0] === "against";
const wanted = isAgainst ? positionals.slice(2) : positionals;
if (isAgainst && wanted.length === 0) wanted.push(...AGAINST_NAMES);
const chosen = wanted.flatMap((name) => (name === "all" ? names : name));
const unknown = chosen.find((name) => BENCHES[name] === undefined);
const asked = values.rounds === undefined ? null : Number(values.rounds);
if (unknown !== undefined || (asked !== null && (!Number.isInteger(asked) || asked < 1))) {
  const problem =
    unknown === undefined
      ? `--rounds is ${values.rounds}; it must be an integer of at least 1`
      : `unknown bench ${unknown}; expected all, or one of: ${names.join(", ")}`;
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}

const log = (line: string) => process.stderr.write(`${line}\n`);
const isShared = chosen.some((name) => BENCHES[name]?.brokers === undefined);
await using kafka = isShared ? await startKafka({ log }) : null;
if (isAgainst) {
  const [, commit = ""] = positionals;
  const rounds = asked ?? AGAINST_ROUNDS;
  const brokers = kafka?.brokers.join(",") ?? "";
  process.exitCode = benchAgainst({ commit, names: chosen, rounds, brokers, log }) ? 0 : 1;
  chosen.length = 0;
}
for (const name of chosen) {
  process.stdout.write(`\n## ${name}\n\n`);
  const bench = BENCHES[name];
  const conditionsThen = conditions(bench?.brokers);
  process.stdout.write(`${conditionsThen}\n\n`);
  const rounds = asked ?? bench?.rounds ?? ROUNDS;
  const table = await bench?.run(kafka?.brokers.join(",") ?? "", rounds);
  process.stdout.write(`${table}\n`);
  if (!values.write) continue;
  const command = `npm run bench -- ${name} --rounds ${rounds}${values.long ? " --long" : ""}`;
  const day = new Date().toISOString().slice(0, 10);
  const head = `\`${command}\`, ${day}, commit ${presentCommit()}. ${conditionsThen}`;
  writeResult(names, name, `${head}\n\n${table}`);
}

function help(): string {
  const rows = Object.entries(BENCHES).map(
    ([name, { says, minutes }]) => `  ${name.padEnd(18)} ${says} (about ${minutes} min)\n`,
  );
  const total = Object.values(BENCHES).reduce((sum, { minutes }) => sum + minutes, 0);
  return (
    "Usage: npm run bench -- NAME...|all [--rounds N] [--long] [--write]\n" +
    "       npm run bench -- against COMMIT [NAME...] [--rounds N]\n\n" +
    `Runs measurements on a local Kafka, and prints tables.\n\n${rows.join("")}` +
    `  ${"all".padEnd(18)} all of them (about ${Math.round(total / 60)} hours)\n\n` +
    `  --rounds N   rounds per program, of which the median is used (default ${ROUNDS}; isolation: 3)\n` +
    "  --long       for everyday: also measures the tenth minute (about 14 min)\n" +
    "  --write      writes the tables to bench/RESULTS.md\n"
  );
}

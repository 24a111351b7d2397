/** `switchyard kafka up|down|status`: a local Kafka for people. */

import { join, relative } from "node:path";

import { environmentBrokers } from "./choose.ts";
import { logFile } from "./java.ts";
import { bringUp, type KeptKafka, look, placeIn, takeDown } from "./kept.ts";
import { answers } from "./probe.ts";
import { KAFKA_VERSION } from "./settings.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PLACE = placeIn(ROOT);
const USAGE = `Usage: switchyard kafka up|down|status

  up      starts a local Apache Kafka ${KAFKA_VERSION} that stays, by Docker or by Java and Maven
  down    ends it and removes its data
  status  says whether it runs, and where (exit status 1 if it does not)

With SWITCHYARD_KAFKA_BROKERS set, those brokers are used and none is started.
`;

const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort(new Error("Interrupted.")));
process.once("SIGTERM", () => interrupted.abort(new Error("Interrupted.")));

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function run(args: readonly string[]): Promise<number> {
  const [action, ...rest] = args;
  if (rest.length === 0 && action === "up") return await up();
  if (rest.length === 0 && action === "down") return await down();
  if (rest.length === 0 && action === "status") return await status();
  (action === "--help" ? process.stdout : process.stderr).write(USAGE);
  return action === "--help" ? 0 : 2;
}

async function up(): Promise<number> {
  const given = environmentBrokers();
  if (given.length > 0) return await statusOfGiven(given);
  const { kafka, already } = await bringUp(PLACE, interrupted.signal, log);
  print(
    `Apache Kafka ${already ? "is up already" : "is up"}: ${describe(kafka)}`,
    `  use it    export SWITCHYARD_KAFKA_BROKERS=${kafka.address}`,
    ...whereIsItsLog(kafka),
    "  end it    npm run -s switchyard -- kafka down (removes its data)",
  );
  return 0;
}

async function down(): Promise<number> {
  const kafka = await takeDown(PLACE, interrupted.signal, log);
  print(
    kafka === null ? "No local Kafka was up." : `Ended ${describe(kafka)}; its data is removed.`,
  );
  return 0;
}

async function status(): Promise<number> {
  const given = environmentBrokers();
  if (given.length > 0) return await statusOfGiven(given);
  const found = await look(PLACE);
  if (found === null) {
    print("No local Kafka is up. Start one: npm run -s switchyard -- kafka up");
    return 1;
  }
  const { kafka, isUp } = found;
  print(
    isUp
      ? `Apache Kafka is up: ${describe(kafka)}`
      : `Apache Kafka does not answer, it was ${describe(kafka)}. Start it again, on its data: npm run -s switchyard -- kafka up`,
    ...whereIsItsLog(kafka),
  );
  return isUp ? 0 : 1;
}

async function statusOfGiven(brokers: readonly string[]): Promise<number> {
  const answering = await Promise.all(brokers.map((address) => answers(address)));
  const lines = brokers.map(
    (address, index) => `  ${address}  ${answering[index] ? "answers" : "does not answer"}`,
  );
  print("SWITCHYARD_KAFKA_BROKERS is set, so these are used and none is started:", ...lines);
  return answering.includes(true) ? 0 : 1;
}

function describe(kafka: KeptKafka): string {
  const what = kafka.how === "java" ? `process ${kafka.pid}` : `container ${kafka.container}`;
  return `${kafka.address} (${kafka.how === "java" ? "Java" : "Docker"}, ${what})`;
}

function whereIsItsLog(kafka: KeptKafka): string[] {
  if (kafka.how === "docker") return [`  its log   docker logs ${kafka.container}`];
  return [`  its log   ${relative(process.cwd(), logFile(PLACE.directory))}`];
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** `switchyard kafka up|down|status`: a local Kafka, and a schema registry, for people. */

import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

import { environmentBrokers } from "./choose.ts";
import { BROKERS_MAX, logFile } from "./java.ts";
import { bringUp, type Kept, look, type Place, placeIn, type Service, takeDown } from "./kept.ts";
import { KAFKA, kafkaService, REGISTRY } from "./kept-services.ts";
import { answers } from "./probe.ts";
import { environmentRegistry } from "./registry.ts";
import { REGISTRY_VERSION, registryAnswers, registryLog } from "./registry-java.ts";
import { CA_FILE, type ClientSecurity, PASSWORD, USER } from "./security.ts";
import { KAFKA_VERSION } from "./settings.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const USAGE = `Usage: switchyard kafka up [--registry] [--brokers N] [--tls] [--sasl] | down | status

  up      starts a local Apache Kafka ${KAFKA_VERSION} that stays, by Docker or by Java and Maven;
          with --registry a schema registry beside it, Apicurio ${REGISTRY_VERSION};
          with --brokers so many brokers, which keep each topic three times and write it at least
          twice; with --tls and --sasl clients use TLS and log in (these three by Java and Maven alone)
  down    ends both and removes their data
  status  says whether they run, and where (exit status 1 if Kafka does not)

With SWITCHYARD_KAFKA_BROKERS set, those brokers are used and none is started; the same goes for
SWITCHYARD_REGISTRY_URL. SWITCHYARD_KAFKA_VERSION names another version of Apache Kafka.
`;

/** What people are told of a service. */
interface Told {
  readonly service: Service;
  readonly place: Place;
  readonly title: string;
  readonly variable: string;
  readonly up: string;
  readonly log: string;
  /** Addresses of the environment; empty: none. */
  readonly given: () => readonly string[];
  readonly answers: (address: string) => Promise<boolean>;
}

interface Asked {
  readonly registry: boolean;
  readonly brokers: number;
  readonly security: ClientSecurity;
}

const KAFKA_TOLD: Told = {
  service: KAFKA,
  place: placeIn(ROOT, KAFKA),
  title: "Apache Kafka",
  variable: "SWITCHYARD_KAFKA_BROKERS",
  up: "kafka up",
  log: logFile(placeIn(ROOT, KAFKA).directory),
  given: environmentBrokers,
  answers,
};

const REGISTRY_TOLD: Told = {
  service: REGISTRY,
  place: placeIn(ROOT, REGISTRY),
  title: "The schema registry",
  variable: "SWITCHYARD_REGISTRY_URL",
  up: "kafka up --registry",
  log: registryLog(placeIn(ROOT, REGISTRY).directory),
  given: () => [environmentRegistry() ?? []].flat(),
  answers: registryAnswers,
};

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
  const asked = action === "up" ? parseAsked(rest) : null;
  if (asked !== null) return await upAll(asked);
  if (rest.length === 0 && action === "down") return await down();
  if (rest.length === 0 && action === "status") return await status();
  (action === "--help" ? process.stdout : process.stderr).write(USAGE);
  return action === "--help" ? 0 : 2;
}

/** Null when it is not understood. */
function parseAsked(args: readonly string[]): Asked | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        registry: { type: "boolean", default: false },
        brokers: { type: "string", default: "1" },
        tls: { type: "boolean", default: false },
        sasl: { type: "boolean", default: false },
      },
    });
    const { registry, tls, sasl } = values;
    const brokers = Number(values.brokers);
    const isCount = Number.isInteger(brokers) && brokers >= 1 && brokers <= BROKERS_MAX;
    if (isCount) return { registry, brokers, security: { tls, sasl } };
    process.stderr.write(
      `--brokers is ${values.brokers}; it must be a whole number from 1 to ${BROKERS_MAX}\n`,
    );
    return null;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}

async function upAll({ registry, brokers, security }: Asked): Promise<number> {
  const service = kafkaService(brokers, security);
  const kafka = await up({ ...KAFKA_TOLD, service }, settingsFor(security));
  return registry ? Math.max(kafka, await up(REGISTRY_TOLD)) : kafka;
}

/** The environment of a client that wants in, beside the addresses. */
function settingsFor({ tls, sasl }: ClientSecurity): string[] {
  const login = { MECHANISM: "scram-sha-512", USERNAME: USER, PASSWORD };
  return [
    ...(tls ? [`SWITCHYARD_KAFKA_TLS_CA=${CA_FILE}`] : []),
    ...(sasl
      ? Object.entries(login).map(([name, value]) => `SWITCHYARD_KAFKA_SASL_${name}='${value}'`)
      : []),
  ];
}

async function up(told: Told, more: readonly string[] = []): Promise<number> {
  if (told.given().length > 0) return await statusOfGiven(told);
  const { kept, already } = await bringUp(told.service, told.place, interrupted.signal, log);
  print(
    `${told.title} ${already ? "is up already" : "is up"}: ${describe(kept)}`,
    `  use it    export ${told.variable}=${kept.address}`,
    ...more.map((setting) => `            export ${setting}`),
    ...whereIsItsLog(told, kept),
    "  end it    npm run -s switchyard -- kafka down (removes its data)",
  );
  return 0;
}

async function down(): Promise<number> {
  for (const { place, title } of [REGISTRY_TOLD, KAFKA_TOLD]) {
    const kept = await takeDown(place, interrupted.signal, log);
    if (kept !== null)
      print(`Ended ${title.replace(/^The/, "the")}, ${describe(kept)}; its data is removed.`);
    else if (title === KAFKA_TOLD.title) print("No local Kafka was up.");
  }
  return 0;
}

async function status(): Promise<number> {
  const registry = await look(REGISTRY, REGISTRY_TOLD.place);
  const kafka = await statusOf(KAFKA_TOLD);
  const isAsked = registry !== null || REGISTRY_TOLD.given().length > 0;
  if (isAsked) await statusOf(REGISTRY_TOLD);
  return kafka;
}

async function statusOf(told: Told): Promise<number> {
  if (told.given().length > 0) return await statusOfGiven(told);
  const found = await look(told.service, told.place);
  if (found === null) {
    print(`No local Kafka is up. Start one: npm run -s switchyard -- ${told.up}`);
    return 1;
  }
  const { kept, isUp } = found;
  print(
    isUp
      ? `${told.title} is up: ${describe(kept)}`
      : `${told.title} does not answer, it was ${describe(kept)}. Start it again, on its data: npm run -s switchyard -- ${told.up}`,
    ...whereIsItsLog(told, kept),
  );
  return isUp ? 0 : 1;
}

async function statusOfGiven(told: Told): Promise<number> {
  const addresses = told.given();
  const answering = await Promise.all(addresses.map((address) => told.answers(address)));
  const lines = addresses.map(
    (address, index) => `  ${address}  ${answering[index] ? "answers" : "does not answer"}`,
  );
  print(`${told.variable} is set, so that is used and none is started:`, ...lines);
  return answering.includes(true) ? 0 : 1;
}

function describe(kept: Kept): string {
  const kind = kept.kind === null || kept.kind === REGISTRY.kind ? "" : `${kept.kind}, `;
  if (kept.how === "docker") return `${kept.address} (${kind}Docker, container ${kept.container})`;
  const processes = `process${kept.pids.length === 1 ? "" : "es"} ${kept.pids.join(", ")}`;
  return `${kept.address} (${kind}Java, ${processes})`;
}

function whereIsItsLog(told: Told, kept: Kept): string[] {
  if (kept.how === "docker") return [`  its log   docker logs ${kept.container}`];
  const { directory } = told.place;
  const nodes = existsSync(directory) ? readdirSync(directory).sort() : [];
  const logs = nodes
    .filter((name) => name.startsWith("node-"))
    .map((name) => join(directory, name));
  const files = logs.length === 0 ? [told.log] : logs.map(logFile);
  return files.map((file) => `  its log   ${relative(process.cwd(), file)}`);
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

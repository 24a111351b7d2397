/** `switchyard kafka up|down|status`: runs a local Kafka and a schema registry. */

import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

import { BROKERS_MAX } from "./java.ts";
import { bringUp, type Kept, look, type Place, placeIn, type Service, takeDown } from "./kept.ts";
import { KAFKA, kafkaService, REGISTRY } from "./kept-services.ts";
import { REGISTRY_VERSION } from "./registry-java.ts";
import { CA_FILE, type ClientSecurity, PASSWORD, USER } from "./security.ts";
import { KAFKA_VERSION } from "./settings.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const USAGE = `Usage: switchyard kafka up [--registry] [--brokers N] [--tls] [--sasl] | down | status

  up      start Apache Kafka ${KAFKA_VERSION} in the background, with Docker or with Java and Maven;
          --registry also starts a schema registry, Apicurio ${REGISTRY_VERSION};
          --brokers N starts N brokers, with three replicas of each topic, two of them in sync;
          --tls and --sasl require TLS and authentication (these three need Java and Maven)
  down    stop both and remove their data
  status  show whether they are running, and their addresses (exit status 1 if Kafka is not running)

If SWITCHYARD_KAFKA_BROKERS is set, those brokers are used and none is started. The same applies to
SWITCHYARD_REGISTRY_URL. SWITCHYARD_KAFKA_VERSION selects another version of Apache Kafka.
`;

interface Asked {
  readonly registry: boolean;
  readonly brokers: number;
  readonly security: ClientSecurity;
}

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

/** Returns null if the arguments are invalid. */
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
      `--brokers is ${values.brokers}; it must be an integer from 1 to ${BROKERS_MAX}\n`,
    );
    return null;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}

async function upAll({ registry, brokers, security }: Asked): Promise<number> {
  const service = kafkaService(brokers, security);
  const kafka = await up(service, settingsFor(security));
  return registry ? Math.max(kafka, await up(REGISTRY)) : kafka;
}

/** Returns the environment variables for clients, in addition to the address. */
function settingsFor({ tls, sasl }: ClientSecurity): string[] {
  const login = { MECHANISM: "scram-sha-512", USERNAME: USER, PASSWORD };
  return [
    ...(tls ? [`SWITCHYARD_KAFKA_TLS_CA=${CA_FILE}`] : []),
    ...(sasl
      ? Object.entries(login).map(([name, value]) => `SWITCHYARD_KAFKA_SASL_${name}='${value}'`)
      : []),
  ];
}

async function up(service: Service, more: readonly string[] = []): Promise<number> {
  if (service.given().length > 0) return await statusOfGiven(service);
  const { kept, already } = await bringUp(service, placeOf(service), interrupted.signal, log);
  print(
    `${service.title} ${already ? "is already running" : "is running"}: ${describe(kept)}`,
    `  use it    export ${service.variable}=${kept.address}`,
    ...more.map((setting) => `            export ${setting}`),
    ...whereIsItsLog(service, kept),
    "  stop it   npm run -s switchyard -- kafka down (removes its data)",
  );
  return 0;
}

async function down(): Promise<number> {
  for (const service of [REGISTRY, KAFKA]) {
    const title = service.title.replace(/^The/, "the");
    const kept = await takeDown(placeOf(service), interrupted.signal, log);
    if (kept !== null) print(`Stopped ${title}, ${describe(kept)}, and removed its data.`);
    else if (service === KAFKA) print("No local Kafka was running.");
  }
  return 0;
}

async function status(): Promise<number> {
  const registry = await look(REGISTRY, placeOf(REGISTRY));
  const kafka = await statusOf(KAFKA);
  if (registry !== null || REGISTRY.given().length > 0) await statusOf(REGISTRY);
  return kafka;
}

async function statusOf(service: Service): Promise<number> {
  if (service.given().length > 0) return await statusOfGiven(service);
  const found = await look(service, placeOf(service));
  if (found === null) {
    print(`No local Kafka is running. Start one: npm run -s switchyard -- ${service.up}`);
    return 1;
  }
  const { kept, isUp } = found;
  print(
    isUp
      ? `${service.title} is running: ${describe(kept)}`
      : `${service.title} does not respond; it was ${describe(kept)}. Restart it on its data: npm run -s switchyard -- ${service.up}`,
    ...whereIsItsLog(service, kept),
  );
  return isUp ? 0 : 1;
}

async function statusOfGiven(service: Service): Promise<number> {
  const addresses = service.given();
  const responding = await Promise.all(addresses.map((address) => service.responds(address)));
  const lines = addresses.map(
    (address, index) => `  ${address}  ${responding[index] ? "responds" : "does not respond"}`,
  );
  print(`${service.variable} is set, so it is used and none is started:`, ...lines);
  return responding.includes(true) ? 0 : 1;
}

function placeOf(service: Service): Place {
  return placeIn(ROOT, service);
}

function describe(kept: Kept): string {
  const kind = kept.kind === REGISTRY.kind ? "" : `${kept.kind}, `;
  if (kept.how === "docker") return `${kept.address} (${kind}Docker, container ${kept.container})`;
  const processes = `process${kept.pids.length === 1 ? "" : "es"} ${kept.pids.join(", ")}`;
  return `${kept.address} (${kind}Java, ${processes})`;
}

/** Returns the paths of the logs: in a cluster, each node has one. */
function whereIsItsLog(service: Service, kept: Kept): string[] {
  if (kept.how === "docker") return [`  its log   docker logs ${kept.container}`];
  const { directory } = placeOf(service);
  const inside = existsSync(directory) ? readdirSync(directory).sort() : [];
  const nodes = inside.filter((name) => name.startsWith("node-"));
  const folders = nodes.length === 0 ? [directory] : nodes.map((name) => join(directory, name));
  const files = folders.map((folder) => join(folder, `${service.name}.log`));
  return files.map((file) => `  its log   ${relative(process.cwd(), file)}`);
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

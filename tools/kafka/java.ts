/**
 * Runs one or several Kafka brokers as Java processes, each with its own directory:
 *
 *   cluster-id   node-1/   node-2/   node-3/     in each server.properties   kafka.log   data/
 *
 * A single broker has its files in the directory itself. A guarded broker is killed when its parent ends,
 * however that happens (guard.sh); an unguarded one keeps running.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JavaChoice } from "./choose.ts";
import { archiveOptions, ensureClassArchive } from "./class-archive.ts";
import { freePort } from "./free-port.ts";
import { exited, killProgram, lastLines, startProgram } from "./java-process.ts";
import { untilResponds } from "./probe.ts";
import { type ClientSecurity, isPlain, NO_SECURITY, scramArguments } from "./security.ts";
import { type Listener, nodeSettings, propertiesText } from "./settings.ts";

const LOGGING = join(import.meta.dirname, "log4j2.properties");
export const BROKERS_MAX = 9;

export interface JavaBroker {
  readonly java: string;
  readonly jars: string;
  /** Absolute path. */
  readonly directory: string;
  /** `host:port`, plaintext. */
  readonly address: string;
  /** `host:port` for each proxy, in their order. */
  readonly behind: readonly string[];
  /** Options for the Java virtual machine. */
  readonly javaOptions: readonly string[];
}

export interface ClusterPlan {
  /** Number of nodes. */
  readonly brokers: number;
  readonly security: ClientSecurity;
  /** `true` to create the user for SCRAM also if `security` does not need one. */
  readonly hasUser?: boolean;
  /** Preferred ports of the nodes for clients. Ports that are not given follow the first one. */
  readonly ports: readonly number[];
  /** For each node, the addresses of proxies, each of which gets its own listener. */
  readonly fronts: readonly (readonly string[])[];
  readonly javaOptions: readonly string[];
}

export interface ClusterNode {
  readonly id: number;
  /** `host:port` for clients. */
  readonly address: string;
  readonly broker: JavaBroker;
}

interface NodeListeners {
  readonly plaintext: Listener;
  readonly client: Listener;
  readonly controller: string;
  readonly fronted: readonly Listener[];
}

/**
 * For brokers that serve one test, or that run next to others. They have few clients, and some are started often: one
 * thread is enough for garbage collection, and using only the fast compiler halves the cost of a start.
 */
export const BRIEF_OPTIONS = [
  ...["-Xms128m", "-Xmx448m"],
  ...["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
];
/** For a broker with a high load, or one that keeps running. */
export const LASTING_OPTIONS = ["-Xmx768m"];

/** Prepares one broker for one test. @param hasUser see `ClusterPlan`. */
export async function prepareBroker(
  java: string,
  jars: string,
  directory: string,
  signal: AbortSignal,
  hasUser = false,
): Promise<JavaBroker> {
  const plan = { brokers: 1, security: NO_SECURITY, hasUser, ports: [], fronts: [] };
  const brief = { ...plan, javaOptions: BRIEF_OPTIONS };
  const [node] = await prepareNodes({ java, jars }, directory, brief, signal);
  if (node === undefined) throw new Error("no node");
  return node.broker;
}

/** Writes the settings, and formats data directories that do not exist yet. */
export async function prepareNodes(
  choice: JavaChoice,
  directory: string,
  plan: ClusterPlan,
  signal: AbortSignal,
): Promise<readonly ClusterNode[]> {
  await ensureClassArchive(choice, signal, (file) => writeClassArchive(choice, file, signal));
  return await writeNodes(choice, directory, plan, signal);
}

/** Starts a broker, and stops it in good order. */
async function writeClassArchive(
  choice: JavaChoice,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-classes-"));
  try {
    const javaOptions = [...BRIEF_OPTIONS, `-XX:ArchiveClassesAtExit=${file}`];
    const plan = { brokers: 1, security: NO_SECURITY, ports: [], fronts: [], javaOptions };
    for (const { broker } of await writeNodes(choice, directory, plan, signal)) {
      const process = await startBroker(broker, "guarded", signal);
      process.kill("SIGTERM");
      await exited(process);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function writeNodes(
  { java, jars }: JavaChoice,
  directory: string,
  plan: ClusterPlan,
  signal: AbortSignal,
): Promise<readonly ClusterNode[]> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const listeners: NodeListeners[] = [];
  for (let index = 0; index < plan.brokers; index += 1) {
    listeners.push(await chooseListeners(plan, index));
  }
  const controllers = listeners.map(({ controller }) => controller);
  const clusterId = clusterIdIn(directory);
  const { security, hasUser = security.sasl, javaOptions } = plan;
  const nodes = listeners.map((each, index): ClusterNode => {
    const own = plan.brokers === 1 ? directory : join(directory, `node-${index + 1}`);
    mkdirSync(own, { recursive: true });
    const node = { id: index + 1, ...each, controllers, security };
    const settings = nodeSettings({ ...node, dataDirectory: join(own, "data") });
    writeFileSync(join(own, "server.properties"), propertiesText(settings));
    const behind = each.fronted.map(({ bound }) => bound);
    const address = each.plaintext.advertised;
    const broker = { java, jars, directory: own, address, behind, javaOptions };
    return { id: node.id, address: each.client.advertised, broker };
  });
  const args = ["--cluster-id", clusterId, ...(hasUser ? scramArguments() : [])];
  const unformatted = nodes.filter(
    ({ broker }) => !existsSync(join(broker.directory, "data", "meta.properties")),
  );
  await Promise.all(unformatted.map(({ broker }) => format(broker, args, signal)));
  return nodes;
}

async function chooseListeners(plan: ClusterPlan, index: number): Promise<NodeListeners> {
  const address = async (preferred = 0) => `127.0.0.1:${await freePort(preferred)}`;
  const listener = (at: string): Listener => ({ advertised: at, bound: at });
  const [first = 0] = plan.ports;
  const preferred = plan.ports[index] ?? (first === 0 ? 0 : first + index);
  const client = listener(await address(preferred));
  const fronted: Listener[] = [];
  for (const advertised of plan.fronts[index] ?? []) {
    fronted.push({ advertised, bound: await address() });
  }
  const plaintext = isPlain(plan.security) ? client : listener(await address());
  return { client, plaintext, controller: await address(), fronted };
}

/** Returns the cluster ID of all nodes, including nodes that are formatted later. */
function clusterIdIn(directory: string): string {
  const file = join(directory, "cluster-id");
  if (!existsSync(file)) writeFileSync(file, clusterId(randomBytes(16)));
  return readFileSync(file, "utf8");
}

/** Returns an ID that never starts with "-", because the tool would parse that as an option. */
export function clusterId(random: Buffer): string {
  const bytes = Buffer.from(random);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString("base64url");
}

/**
 * Starts the broker, and returns when it responds. If it ends before that, throws an error with the last lines of its
 * log.
 *
 * @param onLaunch called with the process before it responds
 */
export async function startBroker(
  broker: JavaBroker,
  mode: "guarded" | "detached",
  signal: AbortSignal,
  onLaunch?: (process: ChildProcess) => void,
): Promise<ChildProcess> {
  const program = {
    what: "Apache Kafka",
    directory: broker.directory,
    log: logFile(broker.directory),
    command: [
      ...[broker.java, ...broker.javaOptions],
      ...javaArguments(broker, "kafka.Kafka"),
      join(broker.directory, "server.properties"),
    ],
    untilReady: (limit: AbortSignal) => untilResponds(broker.address, limit),
  };
  return await startProgram(program, mode, signal, onLaunch);
}

/** Sends SIGKILL, like a power failure. Returns when the process is gone. */
export const killBroker = killProgram;

function logFile(directory: string): string {
  return join(directory, "kafka.log");
}

/** Formats the data directory in `server.properties`. */
async function format(
  broker: JavaBroker,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const log = openSync(logFile(broker.directory), "a");
  const process = spawn(
    broker.java,
    [
      ...["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
      ...javaArguments(broker, "kafka.tools.StorageTool"),
      ...["format", ...args],
      ...["--config", join(broker.directory, "server.properties")],
    ],
    { stdio: ["ignore", log, log] },
  );
  closeSync(log);
  const kill = () => process.kill("SIGKILL");
  signal.addEventListener("abort", kill);
  const status = await exited(process);
  signal.removeEventListener("abort", kill);
  signal.throwIfAborted();
  if (status === "exit status 0") return;
  throw new Error(
    `Apache Kafka could not format its data directory (${status}):\n\n${lastLines(logFile(broker.directory))}`,
  );
}

function javaArguments(broker: JavaBroker, main: string): string[] {
  const classPath = join(broker.jars, "*");
  return [
    ...archiveOptions(broker),
    "-cp",
    classPath,
    `-Dlog4j2.configurationFile=${LOGGING}`,
    main,
  ];
}

/**
 * One Kafka broker as a Java process, with a directory of its own:
 *
 *   server.properties   kafka.log   data/
 *
 * A guarded broker dies with its parent, however that ends (guard.sh); an unguarded one stays.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { exited, killProgram, lastLines, startProgram } from "./java-process.ts";
import { untilAnswers } from "./probe.ts";
import { brokerSettings, propertiesText } from "./settings.ts";

const LOGGING = join(import.meta.dirname, "log4j2.properties");

export interface JavaBroker {
  readonly java: string;
  readonly jars: string;
  /** Absolute path. */
  readonly directory: string;
  /** `host:port` for clients. */
  readonly address: string;
  /** `host:port` for each proxy, in their order. */
  readonly behind: readonly string[];
  /** Of the Java machine. */
  readonly javaOptions: readonly string[];
}

/**
 * For brokers of one test, and several beside each other. They serve few clients, and some of them
 * are started often: one thread collects their garbage, and the quick compiler alone halves what a
 * start costs.
 */
export const BRIEF_OPTIONS = [
  ...["-Xms128m", "-Xmx448m"],
  ...["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
];
/** For one that has much to do, or stays. */
export const LASTING_OPTIONS = ["-Xmx768m"];

/**
 * Writes the settings and formats the data, unless the directory holds a formatted broker.
 *
 * It is made for one test; others exchange its `javaOptions`.
 *
 * @param fronts addresses of proxies, each of which gets a listener of its own
 */
export async function prepareBroker(
  java: string,
  jars: string,
  directory: string,
  preferredPort: number,
  signal: AbortSignal,
  fronts: readonly string[] = [],
): Promise<JavaBroker> {
  const address = `127.0.0.1:${await freePort(preferredPort)}`;
  const controller = `127.0.0.1:${await freePort()}`;
  const data = join(directory, "data");
  const fronted = await Promise.all(
    fronts.map(async (advertised) => ({ advertised, client: `127.0.0.1:${await freePort()}` })),
  );
  const behind = fronted.map(({ client }) => client);
  const javaOptions = BRIEF_OPTIONS;
  const broker: JavaBroker = { java, jars, directory, address, behind, javaOptions };
  mkdirSync(directory, { recursive: true });
  const listeners = { advertised: address, client: address, controller, fronted };
  const settings = brokerSettings(listeners, data);
  writeFileSync(
    join(directory, "server.properties"),
    propertiesText({ ...settings, "controller.quorum.bootstrap.servers": controller }),
  );
  const isFormatted = existsSync(join(data, "meta.properties"));
  const id = clusterId(randomBytes(16));
  if (!isFormatted) await format(broker, ["--standalone", "--cluster-id", id], signal);
  return broker;
}

/**
 * Starts the broker and returns when it answers. If it ends first, throws with its last lines.
 *
 * @param onLaunch called with the process before it answers
 */
export async function startBroker(
  broker: JavaBroker,
  mode: "guarded" | "detached",
  signal: AbortSignal,
  onLaunch: (process: ChildProcess) => void = () => undefined,
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
    untilReady: (limit: AbortSignal) => untilAnswers(broker.address, limit),
  };
  return await startProgram(program, mode, signal, onLaunch);
}

/** SIGKILL, as if the machine had lost power. Returns when the process is gone. */
export const killBroker = killProgram;

export function logFile(directory: string): string {
  return join(directory, "kafka.log");
}

/** Never begins with "-", which the tool would take for an option; Kafka's own ids do not, either. */
export function clusterId(random: Buffer): string {
  const bytes = Buffer.from(random);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString("base64url");
}

/** Makes the data directory that `server.properties` names. */
export async function format(
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
  return ["-cp", classPath, `-Dlog4j2.configurationFile=${LOGGING}`, main];
}

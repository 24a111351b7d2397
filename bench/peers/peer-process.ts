/**
 * The contestants of `bench peers`. All of them read the same topics, one per destination, and post each record to the
 * destination's URL.
 */

import { type ChildProcess, execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { ensureDownloaded, runMaven } from "../../tools/kafka/download.ts";
import { spawnGuarded } from "../../tools/kafka/guarded-process.ts";
import { findJava } from "../../tools/kafka/java-home.ts";
import type { ImageStart } from "../image.ts";
import { cpuMsOf, type MeasuredProcess, memoryMb } from "../program.ts";
import { idOf } from "../work.ts";
import { report, type Workbench } from "../workbench.ts";

const JAVA = join(import.meta.dirname, "java");
const POM = join(JAVA, "pom.xml");
/** This warning occurs because kafkajs sets a timer in the past. */
const QUIET = "--disable-warning=TimeoutNegativeWarning";
const SECRET = "bench-shared-secret";
const STOP_LIMIT_MS = 10_000;

export interface PeerWork {
  readonly bench: Workbench;
  /** The endpoint of each destination. */
  readonly urls: readonly string[];
}

export interface Peer {
  readonly name: string;
  readonly start: (work: PeerWork) => Promise<MeasuredProcess>;
}

/** Returns all peers, in the order of the tables. The Java peers are compiled first. */
export async function allPeers(image: ImageStart): Promise<readonly Peer[]> {
  const classPath = await compileJava();
  const node = (name: string, file: string): Peer => ({
    name,
    start: (work) => startPeer([process.execPath, QUIET, join(import.meta.dirname, file)], work),
  });
  const java = (name: string, main: string): Peer => ({
    name,
    start: (work) => startPeer([javaPath(), "-Xmx512m", "-cp", classPath, main], work),
  });
  return [
    { name: "Switchyard", start: (work) => startSwitchyard(image, work) },
    node("kafkajs and undici", "kafkajs.ts"),
    node("@platformatic/kafka and undici", "platformatic.ts"),
    java("kafka-clients and Java's HttpClient", "JavaClient"),
    java("Kafka Streams and Java's HttpClient", "Streams"),
    java("Apache Camel", "CamelRoutes"),
  ];
}

/** Describes the versions of the libraries in a sentence. */
export function peerVersions(): string {
  const node = ["kafkajs", "@platformatic/kafka", "undici"].map((name) => {
    const file = join(import.meta.dirname, "../../node_modules", name, "package.json");
    return `${name} ${(JSON.parse(readFileSync(file, "utf8")) as { version: string }).version}`;
  });
  const pom = readFileSync(POM, "utf8");
  const [kafka, camel] = ["kafka", "camel"].map(
    (name) => new RegExp(`<${name}\\.version>([^<]+)<`).exec(pom)?.[1],
  );
  const java = `kafka-clients and Kafka Streams ${kafka}, Apache Camel ${camel}`;
  return `Versions: ${node.join(", ")}; ${java}, on Java ${javaVersionOf(javaPath())}.`;
}

/** The route stage is not started, because no peer routes calls. */
function startSwitchyard(image: ImageStart, { bench, urls }: PeerWork) {
  const destinations = urls.map((url, at) => ({ id: idOf(at), url }));
  return bench.start({ stages: ["deliver", "delay"], destinations, logLevel: "info", image });
}

async function startPeer(
  command: readonly string[],
  { bench, urls }: PeerWork,
): Promise<MeasuredProcess> {
  const routes = urls.map((url, at) => `${bench.deliveries(idOf(at))}=${url}`);
  const child = spawnGuarded(null, command, {
    output: ["ignore", "inherit"],
    env: {
      ...process.env,
      PEER_BROKERS: bench.brokers,
      PEER_GROUP: `${bench.topics.prefix}peer.`,
      PEER_ROUTES: routes.join(" "),
      PEER_SECRET: SECRET,
    },
  });
  const ended = once(child, "close");
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null) child.kill(signal);
    await Promise.race([ended, sleep(STOP_LIMIT_MS, undefined, { ref: false })]);
    if (isRunning(child)) child.kill("SIGKILL");
    await ended;
  };
  const pid = child.pid ?? 0;
  return {
    cpuMs: () => cpuMsOf(pid),
    rssMb: () => memoryMb(pid, "VmRSS"),
    peakMb: () => memoryMb(pid, "VmHWM"),
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function javaPath(): string {
  const java = findJava();
  if ("problem" in java) throw new Error(`The Java peers need Java 17 or later: ${java.problem}`);
  return java.path;
}

function javaVersionOf(java: string): string {
  const { stderr } = spawnSync(java, ["-version"], { encoding: "utf8" });
  return /version "([^"]+)"/.exec(stderr)?.[1] ?? "of an unknown version";
}

/** Returns the class path. Downloads the libraries once, with Maven. */
async function compileJava(): Promise<string> {
  const pomHash = createHash("sha256").update(readFileSync(POM)).digest("hex").slice(0, 8);
  const jars = await ensureDownloaded(
    {
      what: "the libraries of the Java peers",
      size: "100 MB",
      name: `bench-peers-${pomHash}`,
      fill: async (target, signal, progress) => {
        const options = ["-DincludeScope=runtime", `-DoutputDirectory=${target}`];
        const goal = ["--file", POM, "dependency:copy-dependencies"];
        await runMaven("the libraries", [...goal, ...options], signal, progress);
      },
    },
    new AbortController().signal,
    report,
  );
  const classes = join(jars, "classes");
  const sources = readdirSync(JAVA).filter((name) => name.endsWith(".java"));
  const files = sources.map((name) => join(JAVA, name));
  const javac = javaPath().replace(/java$/, "javac");
  await promisify(execFile)(javac, ["-cp", join(jars, "*"), "-d", classes, ...files]);
  return `${classes}:${join(jars, "*")}`;
}

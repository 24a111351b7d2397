/**
 * Runs Switchyard as child processes of a bench: the real `switchyard run` with a separate configuration. Figures are
 * read from its admin port, as Prometheus would do.
 */

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../tools/kafka/free-port.ts";
import { spawnGuarded } from "../tools/kafka/guarded-process.ts";
import type { ImageStart } from "./image.ts";
import { NODE_FLAGS } from "./measure.ts";

/** The stages from the topic of calls to receivers. */
export const PIPELINE = ["route", "deliver", "delay"] as const;
/**
 * The total concurrency of all destinations, with at most 64 for each, so that a burst does not only open connections.
 */
const CONNECTIONS = 4_000;
const READY_LIMIT_MS = 120_000;
const READY_STEP_MS = 100;
/** Linux reports CPU time to programs in hundredths of a second, regardless of its internal unit. */
const TICK_MS = 10;

export interface ProgramOptions {
  readonly brokers: string;
  readonly topicPrefix: string;
  /** By default, the stages that `run` starts without options. */
  readonly stages?: readonly string[];
  readonly destinations: readonly WebhookSetting[];
  /** The number of partitions of each topic; by default 3. */
  readonly partitions?: number;
  /** The default is 1. */
  readonly replicationFactor?: number;
  /** The retry delays, such as `1s`. */
  readonly delays?: readonly string[];
  /** By default `warn`. Lines are written to a pipe that is read, as in a container. */
  readonly logLevel?: "info" | "warn";
  /** By default, the program is started with the flags of all benches, and compiles its code. */
  readonly image?: ImageStart;
}

export interface WebhookSetting {
  readonly id: string;
  readonly url: string;
  readonly concurrency?: number;
  readonly payload?: "standard" | "full";
  readonly order?: "strict" | "loose";
}

/** A process that is measured from outside. */
export interface MeasuredProcess extends AsyncDisposable {
  /**
   * The CPU of all threads since the process was started, in milliseconds. Only on Linux, where reading it costs the
   * process nothing.
   */
  cpuMs(): number;
  /** The resident memory in MB. Only on Linux. */
  rssMb(): number;
  /** The highest resident memory so far. */
  peakMb(): number;
  /** Sends SIGKILL, and returns when the process is gone. */
  kill(): Promise<void>;
}

export interface Program extends MeasuredProcess {
  /** The value of a metric, summed over its label sets; 0 if the metric is not shown. */
  metric(name: string, having?: string): Promise<number>;
  /** Sends SIGTERM, and waits for the end. Throws if the process did not end gracefully. Idempotent. */
  stop(): Promise<void>;
}

/** Returns the concurrency for each of this many destinations. */
export function concurrencyFor(destinations: number): number {
  return Math.min(64, Math.ceil(CONNECTIONS / destinations));
}

/**
 * Resolves when the program has logged that it is ready. The program ends when this process ends, however that happens.
 */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const [port, ingestPort] = [await freePort(), await freePort()];
  const directory = mkdtempSync(join(tmpdir(), "switchyard-bench-"));
  const file = join(directory, "switchyard.yaml");
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(configuration(options, directory, port, ingestPort)));
  const { image, stages } = options;
  const main = join(import.meta.dirname, "../src/main.ts");
  const chosen = stages === undefined ? [] : ["--stages", stages.join(",")];
  const argv = [...(image?.flags ?? NODE_FLAGS), main, "run", "--config", file];
  const child = spawnGuarded(directory, [process.execPath, ...argv, ...chosen], {
    output: ["pipe", "inherit"],
    env: { ...process.env, ...image?.env },
  });
  child.stdout?.resume();
  const ended = once(child, "close").then(([status]) => {
    rmSync(directory, { recursive: true, force: true });
    return status as number | null;
  });
  const failed = ended.then((status) => {
    throw new Error(`switchyard run ended with status ${status}`);
  });
  // A failure is reported to the code that waits for readiness. After that, nothing needs to be told.
  failed.catch(() => undefined);
  await Promise.race([untilReady(port), failed]);
  const stop = async () => {
    child.kill("SIGTERM");
    const status = await ended;
    if (status !== 0) throw new Error(`switchyard run ended with status ${status}`);
  };
  return {
    metric: async (name, having = "") =>
      sum(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), name, having),
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    rssMb: () => memoryMb(child.pid ?? 0, "VmRSS"),
    peakMb: () => memoryMb(child.pid ?? 0, "VmHWM"),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Reads the CPU of the Node process: the program that starts Node is replaced by it. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name before these fields may contain spaces. User and system time are the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Returns how much of one core the program uses over this time, in percent. */
export async function percentOfCore(program: Program, forMs: number): Promise<number> {
  const [before, startedAtMs] = [program.cpuMs(), performance.now()];
  await sleep(forMs);
  return ((program.cpuMs() - before) / (performance.now() - startedAtMs)) * 100;
}

export function memoryMb(pid: number, name: "VmRSS" | "VmHWM"): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]) / 1_024;
}

/** The settings of a configuration file. */
export function configuration(
  options: ProgramOptions,
  directory: string,
  port: number,
  ingestPort: number,
): object {
  const { brokers, topicPrefix, destinations, delays, logLevel = "warn" } = options;
  const { partitions = 3, replicationFactor = 1 } = options;
  const ids = destinations.map(({ id }) => id);
  return {
    kafka: { brokers: brokers.split(","), topicPrefix, partitions, replicationFactor },
    sources: [{ id: "bench", writeKey: "bench-write-key", destinations: ids }],
    defaultSource: "bench",
    destinations: destinations.map(({ id, url, ...rest }) => ({
      id,
      type: "webhook",
      name: id,
      sharedSecret: "bench-shared-secret",
      endpoints: [{ url }],
      messageIdHeader: true,
      ...rest,
    })),
    delivery: {
      allowNetworks: ["127.0.0.0/8"],
      ...(delays === undefined ? {} : { retryDelays: delays }),
    },
    admin: { host: "127.0.0.1", port },
    ingest: { host: "127.0.0.1", port: ingestPort },
    audience: { stateDir: join(directory, "state") },
    log: { level: logLevel },
  };
}

async function untilReady(port: number): Promise<void> {
  for (const endAt = Date.now() + READY_LIMIT_MS; Date.now() < endAt; ) {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await sleep(READY_STEP_MS);
  }
  throw new Error(`switchyard run was not ready within ${READY_LIMIT_MS / 1_000} s`);
}

function sum(text: string, name: string, having: string): number {
  let total = 0;
  for (const line of text.split("\n")) {
    const isIt = line.startsWith(`${name} `) || line.startsWith(`${name}{`);
    if (isIt && line.includes(having)) total += Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return total;
}

/**
 * Switchyard itself as child processes of a bench: the real `switchyard run` with a configuration
 * of its own, asked for its figures through its admin port, as Prometheus would.
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

/** From the topic of calls to receivers. */
export const PIPELINE = ["route", "deliver", "delay"] as const;
/** Concurrency over all destinations, at most 64 for each, so that a burst is not spent on opening connections. */
const CONNECTIONS = 4_000;
const READY_LIMIT_MS = 120_000;
const READY_STEP_MS = 100;
/** Linux has told programs a hundredth of a second since ever, whatever it counts in. */
const TICK_MS = 10;

export interface ProgramOptions {
  readonly brokers: string;
  readonly topicPrefix: string;
  /** By default those that `run` starts by itself. */
  readonly stages?: readonly string[];
  readonly destinations: readonly WebhookSetting[];
  /** Of each topic; by default 3. */
  readonly partitions?: number;
  /** By default 1. */
  readonly replicationFactor?: number;
  /** Delays of the tiers, such as `1s`. */
  readonly delays?: readonly string[];
  /** By default `warn`. The lines go to a pipe that is read, as a container's do. */
  readonly logLevel?: "info" | "warn";
  /** By default it is started with the flags of all benches, and compiles its code. */
  readonly image?: ImageStart;
}

export interface WebhookSetting {
  readonly id: string;
  readonly url: string;
  readonly concurrency?: number;
  readonly payload?: "standard" | "full";
}

/** A process that is measured from outside. */
export interface MeasuredProcess extends AsyncDisposable {
  /** CPU of all its threads since it was started, in milliseconds; on Linux, where it costs it nothing. */
  cpuMs(): number;
  /** Resident memory, likewise. */
  rssMb(): number;
  /** The most it ever had. */
  peakMb(): number;
  /** SIGKILL. Returns when it is gone. */
  kill(): Promise<void>;
}

export interface Program extends MeasuredProcess {
  /** A metric's value, summed over its label sets; 0 when it is not shown. */
  metric(name: string, having?: string): Promise<number>;
  /** SIGTERM, then waits for the end. Throws when it did not end in good order. Idempotent. */
  stop(): Promise<void>;
}

/** What each of so many destinations may have. */
export function concurrencyFor(destinations: number): number {
  return Math.min(64, Math.ceil(CONNECTIONS / destinations));
}

/** Resolves when it says that it is ready. It ends when this process does, however that ends. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const [port, ingestPort] = [await freePort(), await freePort()];
  const directory = mkdtempSync(join(tmpdir(), "switchyard-bench-"));
  const file = join(directory, "switchyard.yaml");
  // JSON is YAML.
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
  // Whoever waits for readiness hears of it; later on nobody has to.
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

/** Of Node's own process: what starts it becomes it. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name before these may have blanks; user and system time are the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** What it uses of one, over this time. */
export async function percentOfCore(program: Program, forMs: number): Promise<number> {
  const [before, startedAtMs] = [program.cpuMs(), performance.now()];
  await sleep(forMs);
  return ((program.cpuMs() - before) / (performance.now() - startedAtMs)) * 100;
}

export function memoryMb(pid: number, name: "VmRSS" | "VmHWM"): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]) / 1_024;
}

function configuration(
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

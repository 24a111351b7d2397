/**
 * Switchyard itself as child processes of a bench: the real `switchyard run` with a configuration
 * of its own, asked for its figures through its admin port, as Prometheus would.
 */

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../tools/kafka/free-port.ts";
import { spawnGuarded } from "../tools/kafka/guarded-process.ts";
import { NODE_FLAGS } from "./measure.ts";

const READY_LIMIT_MS = 120_000;
const READY_STEP_MS = 100;

export interface ProgramOptions {
  readonly brokers: string;
  readonly topicPrefix: string;
  readonly stages: readonly string[];
  readonly destinations: readonly WebhookSetting[];
  /** Delays of the tiers, such as `1s`. */
  readonly delays?: readonly string[];
}

export interface WebhookSetting {
  readonly id: string;
  readonly url: string;
  readonly concurrency?: number;
  readonly requestsPerSecond?: number;
}

export interface Program {
  /** A metric's value, summed over its label sets; 0 when it is not shown. */
  metric(name: string, having?: string): Promise<number>;
  /** SIGTERM, then waits for the end. Throws when it did not end in good order. */
  stop(): Promise<void>;
}

/** Resolves when it says that it is ready. It ends when this process does, however that ends. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), "switchyard-bench-"));
  const file = join(directory, "switchyard.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configuration(options, port)));
  const main = join(import.meta.dirname, "../src/main.ts");
  const argv = [...NODE_FLAGS, main, "run", "--config", file, "--stages", options.stages.join(",")];
  const command = [process.execPath, ...argv];
  const child = spawnGuarded(directory, command, { output: ["ignore", "inherit"] });
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
  return {
    metric: async (name, having = "") =>
      sum(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), name, having),
    stop: async () => {
      child.kill("SIGTERM");
      const status = await ended;
      if (status !== 0) throw new Error(`switchyard run ended with status ${status}`);
    },
  };
}

function configuration(options: ProgramOptions, port: number): object {
  const { brokers, topicPrefix, destinations, delays } = options;
  const ids = destinations.map(({ id }) => id);
  return {
    kafka: { brokers: brokers.split(","), topicPrefix, partitions: 3, replicationFactor: 1 },
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
    delivery: { allowNetworks: ["127.0.0.0/8"], ...(delays === undefined ? {} : { delays }) },
    admin: { host: "127.0.0.1", port },
    log: { level: "warn" },
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

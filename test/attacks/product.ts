/**
 * The product that is attacked: `switchyard run` as a child process on a real Kafka, with a secret in every setting
 * that accepts one, and with endpoints that verify requests.
 *
 *   destination   endpoint                       its topic
 *   honest        accepts signed requests        gets the calls from the source `web`
 *   broken        nothing listens                the same
 *   other         accepts signed requests        gets the calls from the source `other`, which has
 *                                                none
 *   more, for a group of attacks                 calls that name them
 */

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { NODE_FLAGS } from "../../bench/measure.ts";
import { topicNames } from "../../src/domain/topics.ts";
import type { Kafka, Producer } from "../../src/kafka/port.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { spawnGuarded } from "../../tools/kafka/guarded-process.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { deleteTopics, testKafka } from "../support/worlds/test-kafka.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

/** This string is in each secret of the product, and nowhere else. */
export const SECRET = "hunter2";
export const WRITE_KEY = `${SECRET}-write-key`;
const SHARED_SECRET = `${SECRET}-shared-secret-of-32-chars`;

/** A destination that attacks need in addition to the product's own destinations. Its name is its ID. */
export interface MoreDestination {
  readonly id: string;
  readonly url: string;
}

export interface Product extends AsyncDisposable {
  readonly brokers: readonly string[];
  readonly configFile: string;
  readonly ingestUrl: string;
  readonly adminUrl: string;
  readonly topics: ReturnType<typeof topicNames>;
  readonly kafka: Kafka;
  readonly producer: Producer;
  readonly receiver: Receiver;
  /** Returns everything that the product has written to standard output and standard error. */
  readonly printed: () => string;
  readonly isAlive: () => boolean;
  /** The retry delays. */
  readonly retryDelaysMs: readonly number[];
  /** Returns the sum of a metric's values whose labels contain `having`. */
  readonly metric: (name: string, having?: string) => Promise<number>;
  /** Sends SIGTERM this many times, and resolves with the exit status. */
  readonly stop: (times: number) => Promise<number | null>;
}

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const RETRY_DELAYS_MS = [1_000, 5_000];
const READY_LIMIT_MS = 120_000;

/**
 * Resolves when the product is ready.
 *
 * @param more returns the additional destinations, given the URL of the receiver.
 */
export async function startProduct(
  brokers: readonly string[],
  more: (receiverUrl: string) => readonly MoreDestination[] = () => [],
): Promise<Product> {
  const receiver = await startReceiver(SHARED_SECRET);
  const [adminPort, ingestPort] = [await freePort(), await freePort()];
  const prefix = uniquePrefix("attack");
  const directory = mkdtempSync(join(tmpdir(), "switchyard-attack-"));
  const configFile = join(directory, "switchyard.yaml");
  const options = {
    brokers,
    prefix,
    adminPort,
    ingestPort,
    receiver: receiver.url,
    directory,
    more,
  };
  // JSON is valid YAML.
  writeFileSync(configFile, JSON.stringify(configuration(options)));
  const command = [process.execPath, ...NODE_FLAGS, MAIN, "run", "--config", configFile];
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const child = spawnGuarded(directory, command, { output: ["pipe", "pipe"], env });
  const lines: string[] = [];
  const ready = Promise.withResolvers<void>();
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      if (line.includes('"msg":"ready')) ready.resolve();
    });
  }
  let isAlive = true;
  const ended = once(child, "close").then(([status]) => {
    isAlive = false;
    ready.reject(new Error(`the product ended with status ${status}:\n${lines.join("\n")}`));
    return status as number | null;
  });
  ready.promise.catch(() => undefined);
  await Promise.race([ready.promise, pause(READY_LIMIT_MS, null, { ref: false })]);
  const kafka = testKafka({ brokers, clientId: "attack", recordMaxBytes: () => 2_097_152 });
  const producer = kafka.producer();
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const stop = async (times: number) => {
    for (let sent = 0; sent < times && isAlive; sent += 1) child.kill("SIGTERM");
    return await ended;
  };
  return {
    brokers,
    configFile,
    adminUrl,
    kafka,
    producer,
    receiver,
    stop,
    retryDelaysMs: RETRY_DELAYS_MS,
    ingestUrl: `http://127.0.0.1:${ingestPort}`,
    topics: topicNames(prefix),
    printed: () => lines.join("\n"),
    isAlive: () => isAlive,
    metric: async (name, having = "") => sumOf(await read(`${adminUrl}/metrics`), name, having),
    [Symbol.asyncDispose]: async () => {
      await stop(1);
      await producer.close(3_000);
      await deleteTopics(kafka, prefix);
      await kafka.close();
      await receiver[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function configuration(options: {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly adminPort: number;
  readonly ingestPort: number;
  readonly receiver: string;
  readonly directory: string;
  readonly more: (receiverUrl: string) => readonly MoreDestination[];
}): object {
  const { brokers, prefix, adminPort, ingestPort, receiver, directory } = options;
  const more = options.more(receiver);
  const webhook = (id: string, url: string) => ({
    id,
    type: "webhook",
    sharedSecret: SHARED_SECRET,
    standardWebhooks: true,
    messageIdHeader: true,
    endpoints: [{ url, headers: { "X-Team": `${SECRET}-header` } }],
  });
  const path = `${SECRET}-path?${SECRET}-query`;
  return {
    kafka: { brokers, topicPrefix: prefix, partitions: 2 },
    sources: [
      {
        id: "web",
        writeKey: WRITE_KEY,
        destinations: ["honest", "broken", ...more.map(({ id }) => id)],
      },
      { id: "other", destinations: ["other"] },
    ],
    defaultSource: "web",
    destinations: [
      webhook("honest", `${receiver}/honest/${path}`),
      webhook("broken", `http://127.0.0.1:1/${path}`),
      webhook("other", `${receiver}/other/${path}`),
      ...more.map(({ id, url }) => ({ ...webhook(id, url), name: id })),
    ],
    delivery: {
      retryDelays: RETRY_DELAYS_MS.map((ms) => `${ms}ms`),
      retryWindow: "1h",
      allowNetworks: ["127.0.0.0/8"],
    },
    ingest: { host: "127.0.0.1", port: ingestPort, handover: "100ms" },
    admin: { host: "127.0.0.1", port: adminPort },
    audience: { stateDir: join(directory, "state") },
    log: { level: "debug" },
  };
}

export async function read(url: string): Promise<string> {
  return await (await fetch(url)).text();
}

function sumOf(metrics: string, name: string, having: string): number {
  const values = metrics
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => line.includes(having))
    .map((line) => Number(line.slice(line.lastIndexOf(" "))));
  return values.reduce((sum, value) => sum + value, 0);
}

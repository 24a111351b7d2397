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

import { join } from "node:path";

import { freePort } from "../../tools/kafka/free-port.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { Processes } from "../support/kit/processes.ts";
import { type Endpoints, startEndpoints } from "./endpoints.ts";

/** This string is in each secret of the product, and nowhere else. */
export const SECRET = "hunter2";
export const WRITE_KEY = `${SECRET}-write-key`;
const SHARED_SECRET = `${SECRET}-shared-secret-of-32-chars`;
const CONFIG = "switchyard";
const RETRY_DELAYS_MS = [1_000, 5_000];
const RECORD_MAX_BYTES = 2_097_152;

/** A destination that attacks need in addition to the product's own destinations. Its name is its ID. */
export interface MoreDestination {
  readonly id: string;
  readonly url: string;
}

/** What attacks need in addition to the product, such as servers. */
export interface Prepared extends AsyncDisposable {
  readonly destinations: () => readonly MoreDestination[];
}

export interface Product
  extends AsyncDisposable,
    Pick<UsedKafka, "brokers" | "producer" | "topics" | "recordsIn" | "write"> {
  readonly configFile: string;
  readonly ingestUrl: string;
  readonly adminUrl: string;
  readonly endpoints: Endpoints;
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

/**
 * Resolves when the product is ready.
 *
 * @param more returns the additional destinations.
 */
export async function startProduct(
  brokers: readonly string[],
  more: () => readonly MoreDestination[] = () => [],
): Promise<Product> {
  await using stack = new AsyncDisposableStack();
  const endpoints = stack.use(await startEndpoints(SHARED_SECRET));
  const connection = { brokers, clientId: "attack", recordMaxBytes: () => RECORD_MAX_BYTES };
  const kafka = useKafka("attack", { connection, lifetime: (end) => stack.defer(end) });
  const processes = stack.use(new Processes());
  const [admin, ingest] = [await freePort(), await freePort()];
  const { prefix } = kafka;
  const { directory } = processes;
  const places = { brokers, prefix, admin, ingest, directory, url: endpoints.url };
  processes.configure(CONFIG, configuration(places, more()));
  const lines: string[] = [];
  const program = processes.start(CONFIG, { onText: (line) => lines.push(line) });
  let isAlive = true;
  void program.ended.then(() => {
    isAlive = false;
  });
  await program.ready;
  const adminUrl = `http://127.0.0.1:${admin}`;
  const kept = stack.move();
  return {
    ...kafka,
    ...{ endpoints, adminUrl, ingestUrl: `http://127.0.0.1:${ingest}` },
    configFile: processes.fileOf(CONFIG),
    retryDelaysMs: RETRY_DELAYS_MS,
    printed: () => lines.join("\n"),
    isAlive: () => isAlive,
    metric: async (name, having = "") => sumOf(await read(`${adminUrl}/metrics`), name, having),
    stop: async (times) => {
      for (let sent = 1; sent < times; sent += 1) void program.stop();
      return await program.stop();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

interface Places {
  readonly brokers: readonly string[];
  readonly prefix: string;
  /** Ports. */
  readonly admin: number;
  readonly ingest: number;
  readonly directory: string;
  /** The URL of the endpoints. */
  readonly url: string;
}

function configuration(
  { brokers, prefix, admin, ingest, directory, url }: Places,
  more: readonly MoreDestination[],
): object {
  const webhook = (id: string, endpoint: string) => ({
    id,
    type: "webhook",
    sharedSecret: SHARED_SECRET,
    standardWebhooks: true,
    messageIdHeader: true,
    endpoints: [{ url: endpoint, headers: { "X-Team": `${SECRET}-header` } }],
  });
  const path = `${SECRET}-path?${SECRET}-query`;
  const fed = ["honest", "broken", ...more.map(({ id }) => id)];
  return {
    kafka: { brokers, topicPrefix: prefix, partitions: 2 },
    sources: [
      { id: "web", writeKey: WRITE_KEY, destinations: fed },
      { id: "other", destinations: ["other"] },
    ],
    defaultSource: "web",
    destinations: [
      webhook("honest", `${url}/honest/${path}`),
      webhook("broken", `http://127.0.0.1:1/${path}`),
      webhook("other", `${url}/other/${path}`),
      ...more.map((each) => ({ ...webhook(each.id, each.url), name: each.id })),
    ],
    delivery: {
      retryDelays: RETRY_DELAYS_MS.map((ms) => `${ms}ms`),
      retryWindow: "1h",
      allowNetworks: ["127.0.0.0/8"],
    },
    ingest: { host: "127.0.0.1", port: ingest, handover: "100ms" },
    admin: { host: "127.0.0.1", port: admin },
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

/**
 * Starts a local Kafka for development, tests, the demonstration and benches.
 *
 *   SWITCHYARD_KAFKA_BROKERS is set                 those brokers; a private broker ignores them
 *   a Docker engine responds                        the image apache/kafka, with testcontainers
 *   Java 17+, and Maven or an earlier download      Apache Kafka as a Java process
 *   none of these                                   an error that lists the three
 *
 * A broker that this process started ends when the process ends, however that happens.
 */

import { dockerOrJava, environmentBrokers } from "./choose.ts";
import { startNodes } from "./cluster.ts";
import { KAFKA_IMAGE, startBrokerContainer } from "./docker.ts";
import type { Progress } from "./download.ts";
import { BRIEF_OPTIONS, LASTING_OPTIONS } from "./java.ts";
import { responds } from "./probe.ts";

export interface LocalKafka extends AsyncDisposable {
  readonly how: "environment" | "docker" | "java";
  /** The plaintext `host:port` of each broker. All brokers respond. */
  readonly brokers: readonly string[];
  /** The directory of Apache Kafka's jars, including the console clients; null if Java is not used. */
  readonly jars: string | null;
  /** Stops the broker and removes its data, unless it comes from the environment. Idempotent. */
  stop(): Promise<void>;
}

/** A broker for a single test, which may kill it. */
export interface PrivateKafka extends LocalKafka {
  /** The addresses that `fronts` connect to, in order. */
  readonly behind: readonly string[];
  /** Sends SIGKILL, and returns when the broker is gone. */
  kill(): Promise<void>;
  /** Restarts a killed broker with the same address and data, and returns when it responds. */
  restart(): Promise<void>;
}

export interface StartOptions {
  /** Aborts the start. Does not stop a broker that has been started. */
  readonly signal?: AbortSignal;
  /** Called with a line for each long step. */
  readonly log?: Progress;
}

export interface PrivateOptions {
  /**
   * Addresses of proxies, `host:port`. The broker advertises a proxy's address to clients that connect through
   * it, so that they stay behind it.
   */
  readonly fronts?: readonly string[];
}

type Options = StartOptions & PrivateOptions & { readonly private?: boolean };

/** Starts or finds a Kafka, according to the table above. @throws Error with what to do. */
export async function startKafka(
  options: StartOptions & PrivateOptions & { readonly private: true },
): Promise<PrivateKafka>;
export async function startKafka(
  options?: StartOptions & { readonly private?: boolean },
): Promise<LocalKafka>;
export async function startKafka(options: Options = {}): Promise<LocalKafka> {
  options.signal?.throwIfAborted();
  const brokers = options.private ? [] : environmentBrokers();
  return brokers.length > 0 ? await useBrokers(brokers) : await startOwn(options);
}

async function useBrokers(brokers: readonly string[]): Promise<LocalKafka> {
  const reached = await Promise.all(brokers.map((address) => responds(address)));
  if (!reached.includes(true)) {
    throw new Error(
      `SWITCHYARD_KAFKA_BROKERS is ${brokers.join(",")}, but no Kafka broker responds there in plaintext. ` +
        "Start it, correct the list (host:port, separated by commas), or unset the variable to have one started.",
    );
  }
  const stop = () => Promise.resolve();
  return { how: "environment", brokers, jars: null, stop, [Symbol.asyncDispose]: stop };
}

async function startOwn(options: Options): Promise<PrivateKafka> {
  const { signal = new AbortController().signal, log = () => undefined, fronts = [] } = options;
  return await dockerOrJava("Apache Kafka", KAFKA_IMAGE, signal, log, {
    docker: async (host): Promise<PrivateKafka> => {
      const container = await startBrokerContainer(host, 0, false, fronts);
      const { address, behind, kill, restart, remove } = container;
      const stop = once(remove);
      if (signal.aborted) await stop();
      signal.throwIfAborted();
      const own = { brokers: [address], behind, jars: null, kill, restart, stop };
      return { how: "docker", ...own, [Symbol.asyncDispose]: stop };
    },
    java: async () => {
      const javaOptions = options.private ? BRIEF_OPTIONS : LASTING_OPTIONS;
      const plan = { brokers: 1, fronts: [fronts], javaOptions };
      const cluster = await startNodes({ ...plan, signal, log });
      const { brokers, jars, nodes } = cluster;
      const stop = once(async () => await cluster[Symbol.asyncDispose]());
      return {
        how: "java",
        brokers,
        behind: nodes[0]?.behind ?? [],
        jars,
        kill: async () => await nodes[0]?.kill(),
        restart: async () => {
          await nodes[0]?.kill();
          await nodes[0]?.start();
        },
        stop,
        [Symbol.asyncDispose]: stop,
      };
    },
  });
}

function once(action: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => {
    result ??= action();
    return result;
  };
}

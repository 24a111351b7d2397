/**
 * A local Kafka for people, tests, the demonstration and benches.
 *
 *   SWITCHYARD_KAFKA_BROKERS set                    those brokers; a private broker ignores them
 *   a Docker engine answers                         the image apache/kafka, by testcontainers
 *   Java 17+, and Maven or jars downloaded before   Apache Kafka as a Java process
 *   none of them                                    an error that names the three
 *
 * A broker that was started here ends with this process, however that ends.
 */

import { dockerOrJava, environmentBrokers } from "./choose.ts";
import { startNodes } from "./cluster.ts";
import { KAFKA_IMAGE, startBrokerContainer } from "./docker.ts";
import type { Progress } from "./download.ts";
import { BRIEF_OPTIONS, LASTING_OPTIONS } from "./java.ts";
import { answers } from "./probe.ts";

export interface LocalKafka extends AsyncDisposable {
  readonly how: "environment" | "docker" | "java";
  /** `host:port` of each, plaintext. They answer. */
  readonly brokers: readonly string[];
  /** The directory of Apache Kafka's jars, console clients included; null when not on Java. */
  readonly jars: string | null;
  /** Ends the broker and removes its data. Brokers of the environment are left alone. Idempotent. */
  stop(): Promise<void>;
}

/** A broker for one test alone, which may kill it. */
export interface PrivateKafka extends LocalKafka {
  /** Where each of `fronts` connects to, in their order. */
  readonly behind: readonly string[];
  /** SIGKILL. Returns when the broker is gone. */
  kill(): Promise<void>;
  /** Starts a killed broker again: same address, same data. Returns when it answers. */
  restart(): Promise<void>;
}

export interface StartOptions {
  /** Gives up starting. It does not stop a broker that has been started. */
  readonly signal?: AbortSignal;
  /** Called with one line for each step that takes a while. */
  readonly log?: Progress;
}

export interface PrivateOptions {
  /**
   * Addresses of proxies, `host:port`. Clients that reach the broker through one of them are told
   * its address, so that they stay behind it.
   */
  readonly fronts?: readonly string[];
}

type Options = StartOptions & PrivateOptions & { readonly private?: boolean };

/** Starts or finds a Kafka by the table above. Throws an error that says what to do about it. */
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
  const reached = await Promise.all(brokers.map((address) => answers(address)));
  if (!reached.includes(true)) {
    throw new Error(
      `SWITCHYARD_KAFKA_BROKERS is ${brokers.join(",")}, but no Kafka broker answers there (plaintext). ` +
        "Start it, correct the list (host:port, with commas), or unset the variable to have one started.",
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

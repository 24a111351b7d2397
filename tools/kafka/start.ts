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

import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { choose, chooseJava, environmentBrokers, type JavaChoice } from "./choose.ts";
import { KAFKA_IMAGE, startContainer } from "./docker.ts";
import type { Progress } from "./jars.ts";
import {
  BRIEF_OPTIONS,
  type JavaBroker,
  killBroker,
  LASTING_OPTIONS,
  prepareBroker,
  startBroker,
} from "./java.ts";
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

/** Starts or finds a Kafka by the table above. Throws an error that says what to do about it. */
export async function startKafka(
  options: StartOptions & PrivateOptions & { readonly private: true },
): Promise<PrivateKafka>;
export async function startKafka(
  options?: StartOptions & { readonly private?: boolean },
): Promise<LocalKafka>;
export async function startKafka(
  options: StartOptions & PrivateOptions & { readonly private?: boolean } = {},
): Promise<LocalKafka> {
  const signal = options.signal ?? new AbortController().signal;
  const log = options.log ?? (() => undefined);
  signal.throwIfAborted();
  const brokers = options.private ? [] : environmentBrokers();
  return brokers.length > 0 ? await useBrokers(brokers) : await startOwn(signal, log, options);
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

interface Own extends PrivateOptions {
  readonly private?: boolean;
}

async function startOwn(signal: AbortSignal, log: Progress, own: Own): Promise<PrivateKafka> {
  const choice = await choose(signal, log);
  if (choice.kind === "java") return await startJava(choice, signal, log, own);
  try {
    return await startDocker(choice.host, signal, log, own.fronts ?? []);
  } catch (cause) {
    signal.throwIfAborted();
    log(`${KAFKA_IMAGE} did not start on Docker (${String(cause)}); trying Java`);
    return await startJava(await chooseJava(signal, log), signal, log, own);
  }
}

async function startDocker(
  host: string,
  signal: AbortSignal,
  log: Progress,
  fronts: readonly string[],
): Promise<PrivateKafka> {
  log(`starting Apache Kafka (Docker, ${KAFKA_IMAGE})`);
  const started = await startContainer(host, 0, false, fronts);
  const { address, behind, kill, restart, remove } = started;
  const stop = once(remove);
  if (signal.aborted) await stop();
  signal.throwIfAborted();
  return {
    how: "docker",
    brokers: [address],
    behind,
    jars: null,
    kill,
    restart,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function startJava(
  { java, jars }: JavaChoice,
  signal: AbortSignal,
  log: Progress,
  own: Own,
): Promise<PrivateKafka> {
  log("starting Apache Kafka (Java)");
  const directory = mkdtempSync(join(tmpdir(), "switchyard-kafka-"));
  const [broker, first] = await startOrClear(java, jars, directory, signal, own);
  let running = first;
  const stop = once(async () => {
    await killBroker(running);
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    how: "java",
    brokers: [broker.address],
    behind: broker.behind,
    jars,
    kill: () => killBroker(running),
    restart: async () => {
      await killBroker(running);
      running = await startBroker(broker, "guarded", new AbortController().signal);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Keeps the log of a broker that failed, and nothing of one that was interrupted. */
async function startOrClear(
  java: string,
  jars: string,
  directory: string,
  signal: AbortSignal,
  own: Own,
): Promise<[JavaBroker, ChildProcess]> {
  try {
    const prepared = await prepareBroker(java, jars, directory, 0, signal, own.fronts);
    const javaOptions = own.private ? BRIEF_OPTIONS : LASTING_OPTIONS;
    const broker = { ...prepared, javaOptions };
    return [broker, await startBroker(broker, "guarded", signal)];
  } catch (error) {
    const leftover = signal.aborted ? directory : join(directory, "data");
    rmSync(leftover, { recursive: true, force: true });
    throw error;
  }
}

function once(action: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => {
    result ??= action();
    return result;
  };
}

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

import { dockerHost, KAFKA_IMAGE, startContainer } from "./docker.ts";
import { cachedJars, ensureJars, type Progress } from "./jars.ts";
import { type JavaBroker, killBroker, prepareBroker, startBroker } from "./java.ts";
import { findJava, findOnPath, JAVA_VERSION_MIN } from "./java-home.ts";
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

/** Starts or finds a Kafka by the table above. Throws an error that says what to do about it. */
export async function startKafka(
  options: StartOptions & { readonly private: true },
): Promise<PrivateKafka>;
export async function startKafka(
  options?: StartOptions & { readonly private?: boolean },
): Promise<LocalKafka>;
export async function startKafka(
  options: StartOptions & { readonly private?: boolean } = {},
): Promise<LocalKafka> {
  const signal = options.signal ?? new AbortController().signal;
  const log = options.log ?? (() => undefined);
  signal.throwIfAborted();
  const brokers = options.private ? [] : environmentBrokers();
  return brokers.length > 0 ? await useBrokers(brokers) : await startPrivate(signal, log);
}

/** `SWITCHYARD_KAFKA_BROKERS`, a list with commas; empty when it is not set. */
export function environmentBrokers(): string[] {
  const list = process.env.SWITCHYARD_KAFKA_BROKERS ?? "";
  return list.split(",").flatMap((entry) => entry.trim() || []);
}

/** The directory of the jars, for tests that use Java's clients; null without Java and Maven. */
export async function findJars(signal: AbortSignal, log: Progress): Promise<string | null> {
  if ("trouble" in findJava()) return null;
  if (findOnPath("mvn") === null) return cachedJars();
  return await ensureJars(signal, log);
}

/** The error for a machine that has none of the three. */
export function noKafka(javaTrouble: string): Error {
  return new Error(
    [
      "There is no Kafka to work with. Provide one of these; the first that is there is taken:",
      "  1. SWITCHYARD_KAFKA_BROKERS=host:port,...  brokers that run already (it is not set)",
      `  2. Docker: an engine that answers, for the image ${KAFKA_IMAGE} (none does; is it started?)`,
      `  3. Java ${JAVA_VERSION_MIN} or newer, and Maven (${javaTrouble})`,
    ].join("\n"),
  );
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

async function startPrivate(signal: AbortSignal, log: Progress): Promise<PrivateKafka> {
  const host = await dockerHost();
  if (host === null) return await startJava(signal, log);
  log(`starting Apache Kafka (Docker, ${KAFKA_IMAGE})`);
  try {
    const broker = await startContainer(host, 0, false);
    const { kill, restart, remove } = broker;
    const stop = once(remove);
    const brokers = [broker.address];
    return { how: "docker", brokers, jars: null, kill, restart, stop, [Symbol.asyncDispose]: stop };
  } catch (cause) {
    if ("trouble" in findJava()) {
      throw new Error(`A Docker engine answers, but ${KAFKA_IMAGE} did not start on it.`, {
        cause,
      });
    }
    log(`Docker could not start it (${String(cause)}); trying Java`);
    return await startJava(signal, log);
  }
}

async function startJava(signal: AbortSignal, log: Progress): Promise<PrivateKafka> {
  const { java, jars } = await ensureJava(signal, log);
  log("starting Apache Kafka (Java)");
  const directory = mkdtempSync(join(tmpdir(), "switchyard-kafka-"));
  const [broker, first] = await startOrClear(java, jars, directory, signal);
  let running = first;
  const stop = once(async () => {
    await killBroker(running);
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    how: "java",
    brokers: [broker.address],
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

/** Java and the jars, downloaded if need be. Throws when the machine has no Java or no Maven. */
export async function ensureJava(
  signal: AbortSignal,
  log: Progress,
): Promise<{ readonly java: string; readonly jars: string }> {
  const java = findJava();
  if ("trouble" in java) throw noKafka(java.trouble);
  const cached = cachedJars();
  if (cached !== null) return { java: java.path, jars: cached };
  if (findOnPath("mvn") === null) throw noKafka("Java is there, but no `mvn` on the PATH");
  return { java: java.path, jars: await ensureJars(signal, log) };
}

/** Keeps the log of a broker that failed, and nothing of one that was interrupted. */
async function startOrClear(
  java: string,
  jars: string,
  directory: string,
  signal: AbortSignal,
): Promise<[JavaBroker, ChildProcess]> {
  try {
    const broker = await prepareBroker(java, jars, directory, 0, signal);
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

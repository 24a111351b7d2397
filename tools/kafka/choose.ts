/**
 * Chooses the Kafka to start on this machine if no brokers are given: see the table in start.ts.
 *
 * Docker is preferred to Java, because its image is the one that clusters run. Java is for machines without a container
 * engine, such as some CI machines.
 */

import { dockerHost, KAFKA_IMAGE } from "./docker.ts";
import { cachedJars, ensureClients, ensureJars, type Progress } from "./jars.ts";
import { findJava, findOnPath, JAVA_VERSION_MIN } from "./java-home.ts";

export interface JavaChoice {
  /** The path of `java`. */
  readonly java: string;
  /** The directory of Apache Kafka's jars. */
  readonly jars: string;
}

/** Starts an image on Docker if an engine responds. Uses Java if none does, or if the image does not start. */
export async function dockerOrJava<Started>(
  what: string,
  image: string,
  signal: AbortSignal,
  log: Progress,
  start: {
    /** @param host the host on which the engine publishes ports */
    readonly docker: (host: string) => Promise<Started>;
    readonly java: () => Promise<Started>;
  },
): Promise<Started> {
  signal.throwIfAborted();
  const host = await dockerHost();
  if (host === null) return await start.java();
  try {
    log(`starting ${what} (Docker, ${image})`);
    return await start.docker(host);
  } catch (cause) {
    signal.throwIfAborted();
    log(`${image} did not start on Docker (${String(cause)}); trying Java`);
    return await start.java();
  }
}

/** Downloads the jars if they are missing. @throws Error with what is required. */
export async function chooseJava(signal: AbortSignal, log: Progress): Promise<JavaChoice> {
  const java = findJava();
  if ("problem" in java) throw noKafka(java.problem);
  const cached = cachedJars();
  if (cached !== null) return { java: java.path, jars: cached };
  if (findOnPath("mvn") === null) throw noKafka("Java is installed, but `mvn` is not on the PATH");
  return { java: java.path, jars: await ensureJars(signal, log) };
}

/** Returns the brokers in `SWITCHYARD_KAFKA_BROKERS`, which are separated by commas; none if it is not set. */
export function environmentBrokers(): string[] {
  const list = process.env.SWITCHYARD_KAFKA_BROKERS ?? "";
  return list.split(",").flatMap((entry) => entry.trim() || []);
}

/** Returns the directory of jars for tests that use the console clients; null without Java and Maven. */
export async function findJars(signal: AbortSignal, log: Progress): Promise<string | null> {
  if ("problem" in findJava()) return null;
  if (findOnPath("mvn") === null) return cachedJars();
  return await ensureClients(signal, log);
}

/** Returns the error if none of the three is available. */
export function noKafka(javaProblem: string): Error {
  return new Error(
    [
      "No Kafka is available. Provide one of these; the first available one is used:",
      "  1. SWITCHYARD_KAFKA_BROKERS=host:port,...  running brokers (not set)",
      `  2. Docker, for the image ${KAFKA_IMAGE} (no engine responds; is it running?)`,
      `  3. Java ${JAVA_VERSION_MIN} or later, and Maven (${javaProblem})`,
    ].join("\n"),
  );
}

/**
 * Which Kafka to use on this machine, when no brokers are given: see the table in start.ts.
 *
 * Docker comes before Java because its image is exactly what a cluster runs; Java is for machines,
 * such as CI's, that may not have an engine.
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

/** Starts an image on Docker where an engine answers. Where it does not start there, or none does, Java. */
export async function dockerOrJava<Started>(
  what: string,
  image: string,
  signal: AbortSignal,
  log: Progress,
  start: {
    /** @param host where the engine publishes ports */
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

/** Downloads the jars when that is what Java lacks. Throws an error that says what to provide. */
export async function chooseJava(signal: AbortSignal, log: Progress): Promise<JavaChoice> {
  const java = findJava();
  if ("problem" in java) throw noKafka(java.problem);
  const cached = cachedJars();
  if (cached !== null) return { java: java.path, jars: cached };
  if (findOnPath("mvn") === null) throw noKafka("Java is there, but no `mvn` on the PATH");
  return { java: java.path, jars: await ensureJars(signal, log) };
}

/** `SWITCHYARD_KAFKA_BROKERS`, a list with commas; empty when it is not set. */
export function environmentBrokers(): string[] {
  const list = process.env.SWITCHYARD_KAFKA_BROKERS ?? "";
  return list.split(",").flatMap((entry) => entry.trim() || []);
}

/** The directory of jars whose console clients run, for tests that use them; null without Java and Maven. */
export async function findJars(signal: AbortSignal, log: Progress): Promise<string | null> {
  if ("problem" in findJava()) return null;
  if (findOnPath("mvn") === null) return cachedJars();
  return await ensureClients(signal, log);
}

/** The error for a machine that has none of the three. */
export function noKafka(javaProblem: string): Error {
  return new Error(
    [
      "There is no Kafka to work with. Provide one of these; the first that is there is taken:",
      "  1. SWITCHYARD_KAFKA_BROKERS=host:port,...  brokers that run already (it is not set)",
      `  2. Docker: an engine that answers, for the image ${KAFKA_IMAGE} (none does; is it started?)`,
      `  3. Java ${JAVA_VERSION_MIN} or newer, and Maven (${javaProblem})`,
    ].join("\n"),
  );
}

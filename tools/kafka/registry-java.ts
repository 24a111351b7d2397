/**
 * Runs one schema registry, Apicurio, as a Java process with its own directory:
 *
 *   registry.log   data/
 */

import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { cached, type Download, ensureDownloaded, type Progress, runMaven } from "./download.ts";
import { freePort } from "./free-port.ts";
import { findJava, findOnPath } from "./java-home.ts";
import { startProgram } from "./java-process.ts";

export const REGISTRY_VERSION = "3.0.9";
/** Path of its Confluent API. */
export const REGISTRY_PATH = "/apis/ccompat/v7";
const WHAT = `Apicurio Registry ${REGISTRY_VERSION}`;
const ARCHIVE = `apicurio-registry-app-${REGISTRY_VERSION}-all.tar.gz`;
const RUNNER = `apicurio-registry-app-${REGISTRY_VERSION}-runner.jar`;
const INTERVAL_MS = 100;

const DOWNLOAD: Download = {
  what: WHAT,
  size: "105 MB",
  name: `apicurio-registry-${REGISTRY_VERSION}`,
  fill: async (target, signal, progress) => {
    const artifact = `io.apicurio:apicurio-registry-app:${REGISTRY_VERSION}:tar.gz:all`;
    // Older versions of the plugin need the parent POM, which is not in Maven Central.
    const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy";
    const options = [`-Dartifact=${artifact}`, `-DoutputDirectory=${target}`];
    await runMaven(WHAT, [goal, ...options], signal, progress, target);
    const archive = join(target, ARCHIVE);
    const { status, stderr, error } = spawnSync("tar", ["-xzf", archive, "-C", target], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`tar could not unpack ${archive}: ${error ?? stderr}`);
    rmSync(archive);
  },
};

export interface JavaRegistry {
  readonly java: string;
  /** Directory of the program. */
  readonly home: string;
  /** Absolute path of the directory for data and log. */
  readonly directory: string;
  /** URL of its Confluent API. */
  readonly url: string;
  readonly port: number;
}

/** Downloads the program if it is missing. @throws Error with what is required. */
export async function prepareRegistry(
  directory: string,
  preferredPort: number,
  signal: AbortSignal,
  log: Progress,
): Promise<JavaRegistry> {
  const java = findJava();
  if ("problem" in java) throw noRegistry(java.problem);
  if (cached(DOWNLOAD) === null && findOnPath("mvn") === null) {
    throw noRegistry("Java is installed, but `mvn` is not on the PATH");
  }
  const home = await ensureDownloaded(DOWNLOAD, signal, log);
  const port = await freePort(preferredPort);
  mkdirSync(directory, { recursive: true });
  return {
    java: java.path,
    home,
    directory,
    port,
    url: `http://127.0.0.1:${port}${REGISTRY_PATH}`,
  };
}

/**
 * Starts the registry, and returns when it responds. If it ends before that, throws an error with the last lines of its
 * log.
 */
export async function startJavaRegistry(
  registry: JavaRegistry,
  mode: "guarded" | "detached",
  signal: AbortSignal,
  onLaunch?: (process: ChildProcess) => void,
): Promise<ChildProcess> {
  const { java, home, directory, url, port } = registry;
  const settings = {
    ...registrySettings(join(directory, "data", "registry")),
    "quarkus.http.host": "127.0.0.1",
    "quarkus.http.port": String(port),
  };
  const program = {
    what: WHAT,
    directory,
    log: registryLog(directory),
    command: [
      ...[java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
      ...Object.entries(settings).map(([key, value]) => `-D${key}=${value}`),
      ...["-jar", join(home, RUNNER)],
    ],
    untilReady: (limit: AbortSignal) => untilRegistryResponds(url, limit),
  };
  return await startProgram(program, mode, signal, onLaunch);
}

/**
 * Returns settings with which the registry is small and starts quickly. The database is a file that is written
 * immediately, so that registered schemas survive a kill.
 */
export function registrySettings(database: string): Readonly<Record<string, string>> {
  return {
    "apicurio.datasource.url": `jdbc:h2:file:${database};WRITE_DELAY=0`,
    "apicurio.datasource.jdbc.initial-size": "2",
    "apicurio.datasource.jdbc.min-size": "2",
    "apicurio.datasource.jdbc.max-size": "10",
    "quarkus.http.access-log.enabled": "false",
  };
}

function registryLog(directory: string): string {
  return join(directory, "registry.log");
}

/** Resolves with true if a registry's Confluent API responds at the URL. Never throws. */
export async function registryResponds(url: string, limitMs = 2_000): Promise<boolean> {
  try {
    const response = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(limitMs) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

export async function untilRegistryResponds(url: string, signal: AbortSignal): Promise<void> {
  while (!(await registryResponds(url))) await sleep(INTERVAL_MS, undefined, { signal });
}

/** Returns the error if none of the three is available. */
function noRegistry(javaProblem: string): Error {
  return new Error(
    [
      "No schema registry is available. Provide one of these; the first available one is used:",
      "  1. SWITCHYARD_REGISTRY_URL=http://host:port/path  a running registry (not set)",
      "  2. Docker (no engine responds; is it running?)",
      `  3. Java 17 or later, and Maven (${javaProblem})`,
    ].join("\n"),
  );
}

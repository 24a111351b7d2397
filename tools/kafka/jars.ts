/**
 * Apache Kafka's jars, by Maven, once per machine.
 *
 *   $XDG_CACHE_HOME (or ~/.cache)/switchyard/kafka-4.3.1-<hash of pom.xml>/*.jar
 *
 * They are copied into a directory beside it that gets its final name only when it is whole, so
 * that an interrupted download is never taken for a finished one. One process downloads, others
 * wait for it.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { findOnPath } from "./java-home.ts";
import { holdLock } from "./lock.ts";
import { KAFKA_VERSION } from "./settings.ts";

const POM = join(import.meta.dirname, "pom.xml");
const MARKER = "complete";
const QUOTED_LINES = 20;
const PROGRESS_MS = 2_000;

export type Progress = (line: string) => void;

/** The directory of the jars if they are there and whole, else null. */
export function cachedJars(): string | null {
  const directory = jarsDirectory();
  return existsSync(join(directory, MARKER)) ? directory : null;
}

/** Downloads the jars unless they are there. Returns their directory. Throws if Maven fails. */
export async function ensureJars(signal: AbortSignal, progress: Progress): Promise<string> {
  const directory = jarsDirectory();
  const cached = cachedJars();
  if (cached !== null) return cached;
  using _lock = await holdLock(`${directory}.lock`, signal, (owner) =>
    progress(`waiting for process ${owner}, which is downloading Apache Kafka`),
  );
  if (cachedJars() !== null) return directory;

  const partial = `${directory}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  progress(`downloading Apache Kafka ${KAFKA_VERSION} with Maven, once (about 60 MB)`);
  await runMaven(partial, signal, progress);
  writeFileSync(join(partial, MARKER), readFileSync(POM));
  rmSync(directory, { recursive: true, force: true });
  renameSync(partial, directory);
  progress(`Apache Kafka is in ${directory}`);
  return directory;
}

function jarsDirectory(): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const pomHash = createHash("sha256").update(readFileSync(POM)).digest("hex").slice(0, 8);
  return join(cache, "switchyard", `kafka-${KAFKA_VERSION}-${pomHash}`);
}

async function runMaven(target: string, signal: AbortSignal, progress: Progress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const maven = spawn(
    findOnPath("mvn") ?? "mvn",
    [
      ...["--batch-mode", "--file", POM, "dependency:copy-dependencies"],
      ...[`-DoutputDirectory=${target}`, "-DincludeScope=runtime"],
    ],
    { stdio: ["ignore", "pipe", "pipe"], signal },
  );
  maven.on("error", reject);
  maven.on("close", resolve);
  const lines: string[] = [];
  const downloaded = { files: 0 };
  const onLine = (line: string) => {
    if (/^\[INFO\] Downloaded from .*\.jar/.test(line)) downloaded.files += 1;
    else if (!line.includes("Downloading from") && !line.includes("Downloaded from")) {
      lines.push(line);
    }
  };
  createInterface(maven.stdout).on("line", onLine);
  createInterface(maven.stderr).on("line", onLine);
  const ticker = setInterval(
    () => progress(`downloading Apache Kafka: ${downloaded.files} jars so far`),
    PROGRESS_MS,
  );
  try {
    const status = await promise;
    if (status !== 0) {
      throw new Error(
        `Maven could not download Apache Kafka ${KAFKA_VERSION} (exit status ${status}). Its last lines:\n\n` +
          `${lines.slice(-QUOTED_LINES).join("\n")}\n\n` +
          "Check the network and ~/.m2/settings.xml (mirror, proxy), then try again.",
      );
    }
  } finally {
    clearInterval(ticker);
  }
}

/** Finds the newest release of Kafka in Maven Central, or the newest of one line such as 4.0. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMaven } from "./download.ts";
import { findOnPath } from "./java-home.ts";

const POM = join(import.meta.dirname, "newest-pom.xml");

/** Resolves `newest`, a line such as `4.0`, or a version, which is returned unchanged. */
export async function findVersion(wanted: string, signal: AbortSignal): Promise<string> {
  const range = rangeOf(wanted);
  if (range === null) return wanted;
  if (findOnPath("mvn") === null) {
    throw new Error(
      `Maven is needed to find the newest Kafka of ${wanted}, but \`mvn\` is not on the PATH. Install it, or use a version such as 4.0.2.`,
    );
  }
  const directory = mkdtempSync(join(tmpdir(), "switchyard-newest-"));
  const output = join(directory, "list");
  const goal = ["--file", POM, "dependency:list"];
  const options = [`-Dkafka.range=${range}`, `-DoutputFile=${output}`];
  try {
    await runMaven(`the list of versions of ${wanted}`, [...goal, ...options], signal, () => {});
    return listedVersion(readFileSync(output, "utf8"));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Returns the range for Maven; null for a version. @throws Error if it is neither of these. */
export function rangeOf(wanted: string): string | null {
  if (/^\d+\.\d+\.\d+$/.test(wanted)) return null;
  if (wanted === "newest") return "[4.0,)";
  const [, major, minor] = /^(\d+)\.(\d+)$/.exec(wanted) ?? [];
  if (major === undefined)
    throw new Error(`${wanted} is not "newest", a line such as 4.0, or a version such as 4.0.2.`);
  // For Maven, a release candidate of 4.1.0 is below 4.1.
  return `[${wanted}.0,${major}.${Number(minor) + 1}-alpha)`;
}

/** @param list output of Maven's `dependency:list`. */
export function listedVersion(list: string): string {
  const [, version] = /org\.apache\.kafka:kafka_2\.13:jar:(\d+\.\d+\.\d+):/.exec(list) ?? [];
  if (version === undefined) throw new Error(`Maven lists no release of Kafka:\n${list.trim()}`);
  return version;
}

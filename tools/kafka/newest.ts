/** The newest release of Kafka in Maven Central, or of one line such as 4.0, as Maven finds it. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMaven } from "./download.ts";
import { findOnPath } from "./java-home.ts";

const POM = join(import.meta.dirname, "newest-pom.xml");

/** `newest`, a line such as `4.0`, or a version, which is what it is. */
export async function findVersion(wanted: string, signal: AbortSignal): Promise<string> {
  const range = rangeOf(wanted);
  if (range === null) return wanted;
  if (findOnPath("mvn") === null) {
    throw new Error(
      `Maven finds the newest Kafka of ${wanted}, and there is no \`mvn\` on the PATH. Install it, or name a version such as 4.0.2.`,
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

/** In Maven's words; null: it is a version. @throws Error if it is none of these. */
export function rangeOf(wanted: string): string | null {
  if (/^\d+\.\d+\.\d+$/.test(wanted)) return null;
  if (wanted === "newest") return "[4.0,)";
  const [, major, minor] = /^(\d+)\.(\d+)$/.exec(wanted) ?? [];
  if (major === undefined)
    throw new Error(`${wanted} is not "newest", a line such as 4.0, or a version such as 4.0.2.`);
  // Maven counts a candidate of 4.1.0 to what is below 4.1.
  return `[${wanted}.0,${major}.${Number(minor) + 1}-alpha)`;
}

/** @param list as Maven's `dependency:list` writes it. */
export function listedVersion(list: string): string {
  const [, version] = /org\.apache\.kafka:kafka_2\.13:jar:(\d+\.\d+\.\d+):/.exec(list) ?? [];
  if (version === undefined) throw new Error(`Maven names no release of Kafka:\n${list.trim()}`);
  return version;
}

/** Downloads Apache Kafka's jars in `pom.xml` with Maven, once per machine (download.ts). */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { cached, type Download, ensureDownloaded, type Progress, runMaven } from "./download.ts";
import { KAFKA_VERSION } from "./settings.ts";

export type { Progress } from "./download.ts";

const POM = join(import.meta.dirname, "pom.xml");

function download(version: string): Download {
  const pom = readFileSync(POM, "utf8");
  const pomHash = createHash("sha256").update(pom).digest("hex").slice(0, 8);
  const what = `Apache Kafka ${version}`;
  return {
    what,
    // Includes Maven's plugins, which a first build on a machine downloads, too.
    size: "80 MB",
    name: `kafka-${version}-${pomHash}`,
    fill: async (target, signal, progress) => {
      const goal = ["--file", POM, "dependency:copy-dependencies"];
      const versions = [`-Dkafka.version=${version}`];
      // Console clients work only with the libraries of their own release.
      const tools = clientsVersion(pom, version);
      const options = [...versions, `-Dkafka.tools.version=${tools}`, "-DincludeScope=runtime"];
      await runMaven(what, [...goal, ...options, `-DoutputDirectory=${target}`], signal, progress);
    },
  };
}

/** Returns the version of the console clients for a release. */
export function clientsVersion(pom: string, version: string): string {
  const [, newest = version] = /<kafka\.tools\.version>([^<]+)</.exec(pom) ?? [];
  return version.localeCompare(newest, "en", { numeric: true }) < 0 ? version : newest;
}

/** Returns the directory of the complete jars, or null. */
export function cachedJars(): string | null {
  return cached(download(KAFKA_VERSION));
}

/** Downloads the jars if they are missing. Returns their directory. Throws if Maven fails. */
export async function ensureJars(signal: AbortSignal, progress: Progress): Promise<string> {
  return await ensureDownloaded(download(KAFKA_VERSION), signal, progress);
}

/** Downloads the jars of a release with console clients: an earlier release if this one has none. */
export async function ensureClients(signal: AbortSignal, progress: Progress): Promise<string> {
  const version = clientsVersion(readFileSync(POM, "utf8"), KAFKA_VERSION);
  return await ensureDownloaded(download(version), signal, progress);
}

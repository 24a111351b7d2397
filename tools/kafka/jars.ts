/** Apache Kafka's jars, those of `pom.xml`, by Maven, once per machine (download.ts). */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { cached, type Download, ensureDownloaded, type Progress, runMaven } from "./download.ts";
import { KAFKA_VERSION } from "./settings.ts";

export type { Progress } from "./download.ts";

const POM = join(import.meta.dirname, "pom.xml");
const WHAT = `Apache Kafka ${KAFKA_VERSION}`;

function download(): Download {
  const pomHash = createHash("sha256").update(readFileSync(POM)).digest("hex").slice(0, 8);
  return {
    what: WHAT,
    size: "60 MB",
    name: `kafka-${KAFKA_VERSION}-${pomHash}`,
    fill: async (target, signal, progress) => {
      const goal = ["--file", POM, "dependency:copy-dependencies"];
      const version = `-Dkafka.version=${KAFKA_VERSION}`;
      const options = [
        version,
        ...toolsOption(readFileSync(POM, "utf8"), KAFKA_VERSION),
        `-DoutputDirectory=${target}`,
        "-DincludeScope=runtime",
      ];
      await runMaven(WHAT, [...goal, ...options], signal, progress);
    },
  };
}

/**
 * Console clients of a later release do not work with an earlier one's libraries, so an earlier
 * release brings its own.
 */
export function toolsOption(pom: string, version: string): readonly string[] {
  const [, newest = version] = /<kafka\.tools\.version>([^<]+)</.exec(pom) ?? [];
  const isEarlier = version.localeCompare(newest, "en", { numeric: true }) < 0;
  return isEarlier ? [`-Dkafka.tools.version=${version}`] : [];
}

/** The directory of the jars if they are there and whole, else null. */
export function cachedJars(): string | null {
  return cached(download());
}

/** Downloads the jars unless they are there. Returns their directory. Throws if Maven fails. */
export async function ensureJars(signal: AbortSignal, progress: Progress): Promise<string> {
  return await ensureDownloaded(download(), signal, progress);
}

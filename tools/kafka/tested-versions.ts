/**
 * Which releases of Kafka `npm run test:kafka-versions` tests, and which ones it has passed with.
 * `docs/connect.md` lists the latter: the run writes them down, and `npm run docs` the page.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The newest of each line in Maven Central, and the newest of all. */
export const LINES = ["3.9", "4.0", "newest"] as const;

/** In `test/integration`: what the protocol is used for, and two stages. */
export const TESTS = [
  "kafka-contract",
  "kafka-wire",
  "kafka-request-versions",
  "shared-connections",
  "route",
  "deliver",
] as const;

export type Line = (typeof LINES)[number];

/** By line, the version with which all of `TESTS` passed. */
export type Tested = Readonly<Record<Line, string>>;

const FILE = join(import.meta.dirname, "tested-versions.json");

export function testedVersions(): Tested {
  return JSON.parse(readFileSync(FILE, "utf8")) as Tested;
}

export function writeTestedVersions(tested: Tested): void {
  writeFileSync(FILE, `${JSON.stringify(tested, undefined, 2)}\n`);
}

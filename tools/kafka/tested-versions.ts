/**
 * The releases of Kafka that `npm run test:kafka-versions` tests, and the releases with which all tests have passed. A
 * test run stores the releases that passed, and `npm run docs` writes them to `docs/connect.md`.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The release lines whose newest release in Maven Central is tested, and the newest release of all. */
export const LINES = ["3.9", "4.0", "newest"] as const;

/** Tests in `test/integration` for every use of the protocol, and for two stages. */
export const TESTS = [
  "kafka-contract",
  "kafka-wire",
  "kafka-request-versions",
  "shared-connections",
  "route",
  "deliver",
] as const;

export type Line = (typeof LINES)[number];

/** For each line, the version with which all `TESTS` passed. */
export type Tested = Readonly<Record<Line, string>>;

const FILE = join(import.meta.dirname, "tested-versions.json");

export function testedVersions(): Tested {
  return JSON.parse(readFileSync(FILE, "utf8")) as Tested;
}

export function writeTestedVersions(tested: Tested): void {
  writeFileSync(FILE, `${JSON.stringify(tested, undefined, 2)}\n`);
}

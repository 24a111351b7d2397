/**
 * `npm run test:kafka-versions -- [--versions LIST] [--all] [FILE...]`: integration tests with several
 * releases of Kafka, one after the other, each with a broker of its own.
 *
 *   arguments                    which tests
 *   none                         those of `tested-versions.ts`, which are written down if all pass
 *   --all                        all integration tests; likewise
 *   FILE                         these
 *
 *   --versions 3.9,4.1.0,newest  other releases than 3.9, 4.0 and the newest; nothing is written down
 */

import { parseArgs } from "node:util";
import { findVersion } from "./kafka/newest.ts";
import {
  LINES,
  TESTS,
  type Tested,
  testedVersions,
  writeTestedVersions,
} from "./kafka/tested-versions.ts";
import { runShown } from "./steps.ts";

const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort(new Error("Interrupted.")));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { versions: { type: "string" }, all: { type: "boolean", default: false } },
});
const wanted = values.versions?.split(",") ?? LINES;
const isWhole = positionals.length === 0 && values.versions === undefined;
const chosen = positionals.length > 0 ? positionals : TESTS.map((name) => pathOf(name));
const files = values.all ? [] : chosen;

const found = new Map<string, string>();
for (const each of wanted) found.set(each, await findVersion(each, interrupted.signal));
const results = new Map<string, boolean>();
for (const version of new Set(found.values())) {
  if (interrupted.signal.aborted) break;
  process.stdout.write(`\nApache Kafka ${version}\n`);
  results.set(version, await passes(version));
}
process.stdout.write("\n");
for (const [each, version] of found) {
  const state = results.get(version) === true ? "passed" : "FAILED";
  process.stdout.write(`${state} Apache Kafka ${version}${each === version ? "" : ` (${each})`}\n`);
}
const isGood = [...found.values()].every((version) => results.get(version) === true);
if (isGood && isWhole) writeDown(Object.fromEntries(found) as Tested);
process.exitCode = isGood ? 0 : 1;

function pathOf(name: string): string {
  return `test/integration/${name}.test.ts`;
}

async function passes(version: string): Promise<boolean> {
  return await runShown({
    name: `integration tests with Apache Kafka ${version}`,
    command: ["vitest", "run", "--project", "integration", ...files],
    // Brokers that run already may be of any version.
    env: {
      SWITCHYARD_KAFKA_VERSION: version,
      SWITCHYARD_KAFKA_BROKERS: "",
      SWITCHYARD_KAFKA_JARS: "",
    },
  });
}

function writeDown(tested: Tested): void {
  const before = testedVersions();
  writeTestedVersions(tested);
  if (LINES.some((line) => before[line] !== tested[line]))
    process.stdout.write("Other versions than docs/operations.md names: run `npm run docs`.\n");
}

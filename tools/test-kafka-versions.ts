/**
 * `npm run test:kafka-versions -- [--versions LIST] [--all] [FILE...]`: integration tests with several
 * releases of Kafka, one at a time, each on a new broker.
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

try {
  process.exitCode = (await run(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}

/** Returns true if all tests passed. */
async function run(args: string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { versions: { type: "string" }, all: { type: "boolean", default: false } },
  });
  const chosen = positionals.length > 0 ? positionals : TESTS.map(pathOf);
  const files = values.all ? [] : chosen;
  const found = new Map<string, string>();
  for (const each of values.versions?.split(",") ?? LINES) {
    found.set(each, await findVersion(each, interrupted.signal));
  }
  const results = new Map<string, boolean>();
  for (const version of new Set(found.values())) {
    if (interrupted.signal.aborted) break;
    process.stdout.write(`\nApache Kafka ${version}\n`);
    results.set(version, await passes(version, files));
  }
  process.stdout.write("\n");
  for (const [each, version] of found) {
    const state = results.get(version) === true ? "passed" : "FAILED";
    const line = each === version ? "" : ` (${each})`;
    process.stdout.write(`${state} Apache Kafka ${version}${line}\n`);
  }
  const isGood = [...found.values()].every((version) => results.get(version) === true);
  const isWhole = positionals.length === 0 && values.versions === undefined;
  if (isGood && isWhole) writeDown(Object.fromEntries(found) as Tested);
  return isGood;
}

function pathOf(name: string): string {
  return `test/integration/${name}.test.ts`;
}

async function passes(version: string, files: readonly string[]): Promise<boolean> {
  return await runShown({
    name: `integration tests with Apache Kafka ${version}`,
    command: ["vitest", "run", "--project", "integration", ...files],
    // Running brokers may have any version, so they are not used.
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
    process.stdout.write(
      "The versions differ from those in docs/connect.md. Run `npm run docs`.\n",
    );
}

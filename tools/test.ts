/**
 * `npm test`: every check, every test on a real Kafka, and the demonstration.
 *
 * The last line is `N passed, N failed, N skipped`, as Vitest's report counts them; a check or the
 * demonstration that fails counts as one failure. A run in which nothing passed is also a failure. If a few tests that
 * share the machine fail, they are run again (`test-report.ts`).
 */

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { ROOT, runQuietly, runShown, STATIC_STEPS, type Step } from "./steps.ts";
import {
  filesToRunAgain,
  parseReport,
  sumOf,
  type TestFile,
  withSecondRun,
} from "./test-report.ts";

const REPORT = join(ROOT, ".switchyard", "test-report.json");

const TESTS: Step = {
  name: "tests",
  command: [
    ...["vitest", "run", "--reporter=default", "--reporter=json"],
    ...["--reporter=./test/support/vitest/skipped-reporter.ts", `--outputFile.json=${REPORT}`],
  ],
  env: { SWITCHYARD_GENERATED_INPUTS: "5000" },
};

/** The same as `npm start -- --once`, which exits with 0 only if every call arrived as expected. */
const DEMONSTRATION: Step = {
  name: "demonstration",
  command: ["node", "tools/demo/main.ts", "--once"],
};

const failedSteps: Step[] = [...(await runQuietly(STATIC_STEPS))];
const counts = sumOf(await runTests());
failedSteps.push(...(await runQuietly([DEMONSTRATION])));

const failed = counts.failed + failedSteps.length;
for (const step of failedSteps) process.stdout.write(`FAILED ${step.name}\n`);
process.stdout.write(`${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = failed === 0 && counts.passed > 0 ? 0 : 1;

async function runTests(): Promise<readonly TestFile[]> {
  const first = await runOnce(TESTS);
  const again = filesToRunAgain(first);
  if (again.length === 0) return first;
  process.stdout.write(`\nonce more, alone: ${again.join(", ")}\n`);
  const alone = [...TESTS.command, "--no-file-parallelism", ...again];
  const second = await runOnce({ ...TESTS, command: alone });
  for (const { path, failures } of first)
    for (const failure of failures)
      process.stdout.write(`failed in the first run: ${path} > ${failure}\n`);
  return withSecondRun(first, second);
}

async function runOnce(step: Step): Promise<readonly TestFile[]> {
  mkdirSync(join(REPORT, ".."), { recursive: true });
  rmSync(REPORT, { force: true });
  const ok = await runShown(step);
  const files = existsSync(REPORT) ? parseReport(readFileSync(REPORT, "utf8"), ROOT) : [];
  // For example, an error outside of any test.
  if (!ok && sumOf(files).failed === 0) failedSteps.push(step);
  return files;
}

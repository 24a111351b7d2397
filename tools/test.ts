/**
 * `npm test`: every check, every test on a real Kafka, and the demonstration.
 *
 * The last line is `N passed, N failed, N skipped`, as Vitest's report counts them; a check or the
 * demonstration that fails counts as one failed. Nothing passed is a failure too.
 */

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { ROOT, runQuietly, runShown, STATIC_STEPS, type Step } from "./steps.ts";

const REPORT = join(ROOT, ".switchyard", "test-report.json");

const TESTS: Step = {
  name: "tests",
  command: [
    ...["vitest", "run", "--reporter=default", "--reporter=json"],
    ...["--reporter=./test/support/vitest/skipped-reporter.ts", `--outputFile.json=${REPORT}`],
  ],
  env: { SWITCHYARD_GENERATED_INPUTS: "20000" },
};

/** The same as `npm start -- --once`: exit status 0 only if everything arrived as it should. */
const DEMONSTRATION: Step = {
  name: "demonstration",
  command: ["node", "tools/demo/main.ts", "--once"],
};

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const failedSteps: Step[] = [...(await runQuietly(STATIC_STEPS))];
const counts = await runTests();
failedSteps.push(...(await runQuietly([DEMONSTRATION])));

const failed = counts.failed + failedSteps.length;
for (const step of failedSteps) process.stdout.write(`FAILED ${step.name}\n`);
process.stdout.write(`${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = failed === 0 && counts.passed > 0 ? 0 : 1;

async function runTests(): Promise<Counts> {
  mkdirSync(join(REPORT, ".."), { recursive: true });
  rmSync(REPORT, { force: true });
  const ok = await runShown(TESTS);
  const found = existsSync(REPORT) ? parseReport(readFileSync(REPORT, "utf8")) : null;
  // Such as a test file that could not be loaded, or an error outside of any test.
  if (!ok && (found === null || found.failed === 0)) failedSteps.push(TESTS);
  return found ?? { passed: 0, failed: 0, skipped: 0 };
}

function parseReport(text: string): Counts {
  const report: unknown = JSON.parse(text);
  return {
    passed: count(report, "numPassedTests"),
    failed: count(report, "numFailedTests"),
    skipped: count(report, "numPendingTests") + count(report, "numTodoTests"),
  };
}

function count(report: unknown, key: string): number {
  const value = typeof report === "object" && report !== null && Reflect.get(report, key);
  if (typeof value !== "number") throw new Error(`${REPORT} has no number ${key}`);
  return value;
}

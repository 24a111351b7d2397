/**
 * Reads Vitest's JSON report of a run, and groups it by file.
 *
 *   a test file                                     is
 *   without a failure                               counted
 *   of test/local, integration or simulation        run again, alone, if at most 5 of these
 *   with a failure                                  failed; the result of the second run counts
 *   of another kind with a failure                  failed, because it depends only on its inputs
 *
 * The tests in test/local, integration and simulation share two cores and a Kafka with other tests, and wait for real
 * processes. A failure that does not occur again is still printed.
 */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface TestFile {
  /** Path from the root of the project, with slashes. */
  readonly path: string;
  readonly counts: Counts;
  /** The names of the failed tests. If the file could not be loaded, there is an entry that reports this. */
  readonly failures: readonly string[];
}

const FILES_AGAIN_MAX = 5;
const MAY_RUN_AGAIN = /^test\/(local|integration|simulation)\//;

/** @param root folder of the project. @throws Error if the text is not such a report. */
export function parseReport(text: string, root: string): readonly TestFile[] {
  const report: unknown = JSON.parse(text);
  return list(report, "testResults").map((file) => {
    const tests = list(file, "assertionResults");
    const having = (...states: string[]) =>
      tests.filter((test) => states.includes(string(test, "status")));
    const failed = having("failed").map((test) => string(test, "fullName"));
    const isBroken = failed.length === 0 && string(file, "status") === "failed";
    const failures = isBroken ? ["the file itself"] : failed;
    return {
      path: string(file, "name")
        .slice(root.length + 1)
        .replaceAll("\\", "/"),
      counts: {
        passed: having("passed").length,
        failed: failures.length,
        skipped: having("skipped", "pending", "todo").length,
      },
      failures,
    };
  });
}

/** Returns the files to run again; none if a failure is certain, or if too many files failed. */
export function filesToRunAgain(files: readonly TestFile[]): readonly string[] {
  const failed = files.filter(({ failures }) => failures.length > 0).map(({ path }) => path);
  const isWorthIt = failed.length <= FILES_AGAIN_MAX && failed.every((p) => MAY_RUN_AGAIN.test(p));
  return isWorthIt ? failed : [];
}

/** Replaces files of the first run with files of the second run. */
export function withSecondRun(
  first: readonly TestFile[],
  second: readonly TestFile[],
): readonly TestFile[] {
  return first.map((file) => second.find(({ path }) => path === file.path) ?? file);
}

export function sumOf(files: readonly TestFile[]): Counts {
  const sum = (key: keyof Counts) => files.reduce((total, { counts }) => total + counts[key], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

function list(of: unknown, key: string): readonly unknown[] {
  const value = field(of, key);
  if (!Array.isArray(value)) throw new Error(`the test report has no list ${key}`);
  return value;
}

function string(of: unknown, key: string): string {
  const value = field(of, key);
  if (typeof value !== "string") throw new Error(`the test report has no string ${key}`);
  return value;
}

function field(of: unknown, key: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, key) : undefined;
}

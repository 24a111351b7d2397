import { describe, expect, test } from "vitest";

import {
  filesToRunAgain,
  parseReport,
  sumOf,
  type TestFile,
  withSecondRun,
} from "../../../tools/test-report.ts";

const ROOT = "/project";

type File = readonly [path: string, ...states: string[]];

function report(files: readonly File[]): string {
  const testResults = files.map(([path, ...states]) => ({
    name: `${ROOT}/${path}`,
    status: states.some((state) => ["failed", "broken"].includes(state)) ? "failed" : "passed",
    assertionResults: states
      .filter((state) => state !== "broken")
      .map((status, at) => ({ status, fullName: `test ${at}` })),
  }));
  return JSON.stringify({ testResults });
}

const parsed = (...files: readonly File[]): readonly TestFile[] => parseReport(report(files), ROOT);

test("tests are counted by what became of them; a file that did not load is one that failed", () => {
  const files = parsed(
    ["test/unit/a.test.ts", "passed", "passed", "skipped"],
    ["test/local/b.test.ts", "failed", "todo", "pending"],
    ["test/unit/c.test.ts", "broken"],
  );
  expect(sumOf(files)).toEqual({ passed: 2, failed: 2, skipped: 3 });
  expect(files.map(({ failures }) => failures)).toEqual([[], ["test 0"], ["the file itself"]]);
  expect(() => parseReport("{}", ROOT)).toThrow("the test report has no list testResults");
});

describe("run once more", () => {
  const failing = (kind: string, count: number): readonly File[] =>
    Array.from({ length: count }, (_, at) => [`test/${kind}/${at}.test.ts`, "failed"]);

  test.each<[string, readonly File[], number]>([
    ["nothing failed", [["test/local/a.test.ts", "passed"]], 0],
    ["a local one", failing("local", 1), 1],
    ["some on Kafka", failing("integration", 5), 5],
    ["too many", failing("integration", 6), 0],
    ["a unit test among them", [...failing("simulation", 1), ...failing("unit", 1)], 0],
  ])("%s", (_, files, count) => {
    expect(filesToRunAgain(parsed(...files))).toHaveLength(count);
  });

  test("the second run of a file counts, with what it skipped", () => {
    const first = parsed(
      ["test/local/a.test.ts", "failed", "skipped", "skipped"],
      ["test/local/b.test.ts", "failed", "passed"],
      ["test/unit/c.test.ts", "passed"],
    );
    const second = parsed(
      ["test/local/a.test.ts", "passed", "passed", "passed"],
      ["test/local/b.test.ts", "failed", "passed"],
    );
    const counts = sumOf(withSecondRun(first, second));
    expect(counts).toEqual({ passed: 5, failed: 1, skipped: 0 });
  });
});

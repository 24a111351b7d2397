// Runs the chart's own suites (deploy/helm/switchyard/tests) with helm-unittest. This is a program in Go, which `npm
// run test:chart` builds in `.switchyard/` if Go is installed.

import { execFile, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

import { CHART } from "../support/chart/helm.ts";

const MODULE = "github.com/helm-unittest/helm-unittest";
const VERSION = "v1.1.2";
const PROGRAM = join(import.meta.dirname, `../../.switchyard/helm-unittest-${VERSION}`);
const BUILD_LIMIT_MS = 900_000;
const execute = promisify(execFile);

const folder = mkdtempSync(join(tmpdir(), "switchyard-unittest-"));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * The module is built in the same way as by its authors: it replaces a module with its own, which `go install` does not
 * allow.
 */
const GO_MOD = `module suites

go 1.26

require ${MODULE} ${VERSION}

replace github.com/vmware-labs/yaml-jsonpath => github.com/helm-unittest/yaml-jsonpath v0.4.0
`;
const TOOLS = `//go:build tools\n\npackage tools\n\nimport _ "${MODULE}/cmd/helm-unittest"\n`;

/** Returns a reason to skip the test, or null if the program exists. */
async function withoutProgram(): Promise<string | null> {
  if (existsSync(PROGRAM)) return null;
  if (process.env.SWITCHYARD_CHART_VERSIONS !== "all")
    return "`npm run test:chart` builds helm-unittest";
  if (spawnSync("go", ["version"]).status !== 0) return "there is no go";
  writeFileSync(join(folder, "go.mod"), GO_MOD);
  writeFileSync(join(folder, "tools.go"), TOOLS);
  mkdirSync(dirname(PROGRAM), { recursive: true });
  const unfinished = `${PROGRAM}.${process.pid}`;
  try {
    await execute("go", ["mod", "tidy"], { cwd: folder });
    const build = ["build", "-o", unfinished, `${MODULE}/cmd/helm-unittest`];
    await execute("go", build, { cwd: folder });
  } catch (error) {
    const [line] = String((error as { stderr?: string }).stderr)
      .trim()
      .split("\n")
      .slice(-1);
    return `helm-unittest cannot be built: ${line}`;
  }
  renameSync(unfinished, PROGRAM);
  return null;
}

test("the suites pass, and one that is wrong fails", {
  timeout: BUILD_LIMIT_MS,
}, async (context) => {
  const why = await withoutProgram();
  if (why !== null) return context.skip(why);
  const { stdout } = await execute(PROGRAM, [CHART]);
  const [, passed, total] = /^Tests:\s+(\d+) passed, (\d+) total$/m.exec(stdout) ?? [];
  expect(passed).toBe(total);
  expect(Number(passed)).toBeGreaterThan(15);

  const copy = join(folder, "chart");
  cpSync(CHART, copy, { recursive: true });
  writeFileSync(
    join(copy, "tests/wrong_test.yaml"),
    "suite: wrong\ntemplates: [config.yaml]\nvalues: [../ci/defaults-values.yaml]\n" +
      "tests:\n  - it: is wrong\n    asserts: [{ isKind: { of: Secret } }]\n",
  );
  const failed = execute(PROGRAM, [copy]);
  await expect(failed).rejects.toMatchObject({ stdout: expect.stringContaining("1 failed") });
});

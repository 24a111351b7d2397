// `npm run bench` without a name lists the benches, and runs none.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = join(import.meta.dirname, "../../bench/main.ts");

function bench(...args: readonly string[]) {
  return promisify(execFile)(process.execPath, [MAIN, ...args]);
}

test("without a name each measurement has a line, and nothing is started", async () => {
  const { stdout, stderr } = await bench();
  for (const name of [
    "product",
    "everyday",
    "route",
    "deliver",
    "destinations",
    "audience-10m",
    "all",
  ]) {
    expect(stdout).toMatch(
      new RegExp(`^ {2}${name} +\\S.* \\(about [\\d.]+ (?:min|hours)\\)$`, "m"),
    );
  }
  expect(stderr).toBe("");
});

test("an unknown name is rejected, with those that there are", async () => {
  await expect(bench("all", "rout")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      "unknown bench rout; expected all, or one of: product, everyday, ",
    ),
  });
});

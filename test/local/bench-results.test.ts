// bench/RESULTS.md: each part names the commit on which it was measured. This test prints the parts whose measured code
// has changed since then.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { commitOf, MEASURED_PATHS, results } from "../../bench/results.ts";

const ROOT = join(import.meta.dirname, "../..");

function git(...args: readonly string[]): string | null {
  const { status, stdout } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

/** Returns how many later commits changed the measured code; null if git does not have the commit. */
function changesSince(commit: string, paths: readonly string[]): number | null {
  const count = git("rev-list", "--count", `${commit}..HEAD`, "--", ...paths);
  return count === null ? null : Number(count);
}

test("each part names a commit of this history", () => {
  const parts = [...results()];
  expect(parts.length).toBeGreaterThan(15);
  const nameless = parts.filter(([, part]) => commitOf(part) === null).map(([name]) => name);
  expect(nameless).toEqual([]);
  if (git("rev-parse", "--is-shallow-repository") !== "false") return;
  const outdated = parts.flatMap(([name, part]) => {
    const commit = commitOf(part) ?? "";
    const changes = changesSince(commit, MEASURED_PATHS[name] ?? []);
    expect(changes, `${name} names commit ${commit}`).not.toBeNull();
    return changes === 0 ? [] : [`${name} (${commit}, ${changes} commits since)`];
  });
  if (outdated.length > 0) {
    process.stdout.write(
      `bench/RESULTS.md is older than what it measured, in: ${outdated.join(", ")}\n`,
    );
  }
});

test("each bench says what it measures, and that is there", () => {
  const main = readFileSync(join(ROOT, "bench/main.ts"), "utf8");
  const names = [...main.matchAll(/^ {2}"?([\w-]+)"?: \{\n {4}says:/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => MEASURED_PATHS[name ?? ""] === undefined)).toEqual([]);
  const missing = Object.values(MEASURED_PATHS)
    .flat()
    .filter((path) => !existsSync(join(ROOT, path)));
  expect(missing).toEqual([]);
});

test.each([
  ["`npm run bench -- route --rounds 3`, 2026-11-22, commit 3c6e4c7. Node v24, …", "3c6e4c7"],
  ["`npm run bench -- route --rounds 3`, 2026-11-22. Node v24, …", null],
])("%s", (part, expected) => {
  expect(commitOf(part)).toBe(expected);
});

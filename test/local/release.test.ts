// A dry run of the release: the commands that it would run, and the bill of materials that it creates.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const DIGEST = `sha256:${"a".repeat(64)}`;

function release(...args: readonly string[]) {
  const command = [join(ROOT, "tools/release/main.ts"), ...args];
  return spawnSync(process.execPath, command, { encoding: "utf8", cwd: ROOT });
}

test("a dry run prints the commands, and writes the bill of production dependencies", () => {
  const where = ["--registry", "127.0.0.1:1/team", "--base-digest", DIGEST];
  const { status, stdout, stderr } = release(...where, "--npm", "--dry-run");
  expect([status, stderr.replaceAll(/^npm warn .*\n/gm, "")]).toEqual([0, ""]);
  expect(stdout).toContain(`--tag 127.0.0.1:1/team/switchyard:${version} --push`);
  expect(stdout).toContain("npm publish --provenance");
  const file = join(ROOT, `dist/release/switchyard-${version}.cdx.json`);
  const bill: {
    readonly bomFormat: string;
    readonly components: readonly { readonly name: string; readonly group?: string }[];
  } = JSON.parse(readFileSync(file, "utf8"));
  expect(bill.bomFormat).toBe("CycloneDX");
  const named = bill.components.map(({ name }) => name);
  expect(named).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  expect(named).not.toContain("vitest");
});

test.each([
  [[], "--registry HOST/PATH"],
  [["--registry", "https://registry.example.com", "--base-digest", DIGEST], "--registry HOST/PATH"],
  [
    ["--registry", "registry.example.com", "--base-digest", "latest"],
    "--base-digest is not a digest",
  ],
])("%j is rejected", (args, said) => {
  const { status, stderr } = release(...args);
  expect(status).toBe(1);
  expect(stderr).toContain(said);
});

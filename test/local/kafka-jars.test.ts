// Uses a stand-in for Maven, because only the handling of its files and its exit status is tested.

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { cachedJars, ensureJars } from "../../tools/kafka/jars.ts";

const never = new AbortController().signal;
const silent = () => undefined;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-jars-"));
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** Each run adds a line to the file `runs`. */
function installMaven(jar: string, exitStatus: number): void {
  const script = [
    "#!/bin/sh",
    `echo run >>"${folder}/runs"`,
    'for argument; do case "$argument" in -DoutputDirectory=*) target=$(printf %s "$argument" | cut -d= -f2);; esac; done',
    `echo jar >"$target/${jar}"`,
    'echo "[ERROR] the repository is not reachable"',
    `exit ${exitStatus}`,
  ];
  writeFileSync(join(folder, "mvn"), script.join("\n"));
  chmodSync(join(folder, "mvn"), 0o755);
}

test("a download that failed is reported and never taken for a whole one", async () => {
  installMaven("half.jar", 1);
  await expect(ensureJars(never, silent)).rejects.toThrow("the repository is not reachable");
  expect(cachedJars()).toBeNull();

  installMaven("whole.jar", 0);
  const directory = await ensureJars(never, silent);
  expect(readdirSync(directory).sort()).toEqual(["complete", "whole.jar"]);
  expect(cachedJars()).toBe(directory);
});

test("of two at once, one downloads and the other waits for it", async () => {
  installMaven("whole.jar", 0);
  const [first, second] = await Promise.all([ensureJars(never, silent), ensureJars(never, silent)]);
  expect(second).toBe(first);
  expect(readFileSync(join(folder, "runs"), "utf8")).toBe("run\n");
});

/** Finds Java 17 or later and Maven on this machine. */

import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export const JAVA_VERSION_MIN = 17;

/** Returns the path of `java`, or the reason why it cannot be used. */
export function findJava(): { readonly path: string } | { readonly problem: string } {
  const home = process.env.JAVA_HOME;
  const path = home ? join(home, "bin", "java") : findOnPath("java");
  if (path === null) return { problem: "`java` is not on the PATH, and JAVA_HOME is not set" };
  const { stderr, error } = spawnSync(path, ["-version"], { encoding: "utf8" });
  if (error !== undefined) return { problem: `cannot run ${path}: ${error.message}` };
  const version = javaVersion(stderr);
  if (version === null) return { problem: `${path} does not report its version` };
  if (version < JAVA_VERSION_MIN) return { problem: `${path} is Java ${version}` };
  return { path };
}

/** Returns the major version in the output of `java -version`, or null. Java 8 reports 1.8. */
export function javaVersion(text: string): number | null {
  const found = /version "(?:1\.)?(\d+)/.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

/** Returns the first executable file with this name on the PATH, or null. */
export function findOnPath(name: string): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const path of folders.map((folder) => join(folder, name))) {
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not here
    }
  }
  return null;
}

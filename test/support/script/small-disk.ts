/** A small disk for one process alone, in namespaces of its own. */

import { spawnSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILLER = "filler";

/** Runs the command that follows as one that may mount. */
export function inNamespaces(...more: readonly string[]): readonly string[] {
  return ["unshare", "--map-root-user", "--mount", ...more];
}

/** Runs the command that follows with a disk of its own at the directory. */
export function withDisk(directory: string, size: string): readonly string[] {
  const script = `mount -t tmpfs -o size=${size} tmpfs "$0" && exec "$@"`;
  return inNamespaces("sh", "-c", script, directory);
}

/** Why the machine lets nobody do that; null: it does. */
export function whyNoDisk(directory: string): string | null {
  const [command = "", ...args] = [...withDisk(directory, "1m"), "true"];
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? null : `no disk can be mounted in a namespace here: ${stderr?.trim()}`;
}

/** Takes all that is left of it. */
export function fillDisk(directory: string): void {
  const { bavail, bsize } = statfsSync(directory);
  writeFileSync(join(directory, FILLER), Buffer.alloc(bavail * bsize));
}

export function freeDisk(directory: string): void {
  rmSync(join(directory, FILLER));
}

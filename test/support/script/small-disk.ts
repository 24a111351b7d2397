/** A small disk for only one process, in separate namespaces. */

import { spawnSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILLER = "filler";

/** Words that run the following command with permission to mount. */
export function inNamespaces(...more: readonly string[]): readonly string[] {
  return ["unshare", "--map-root-user", "--mount", ...more];
}

/** Words that run the following command with a separate disk at the directory. */
export function withDisk(directory: string, size: string): readonly string[] {
  const script = `mount -t tmpfs -o size=${size} tmpfs "$0" && exec "$@"`;
  return inNamespaces("sh", "-c", script, directory);
}

/** Why the machine does not allow that; null if it does. */
export function whyNoDisk(directory: string): string | null {
  const [command = "", ...args] = [...withDisk(directory, "1m"), "true"];
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? null : `no disk can be mounted in a namespace here: ${stderr?.trim()}`;
}

/** Fills the disk completely. */
export function fillDisk(directory: string): void {
  const { bavail, bsize } = statfsSync(directory);
  writeFileSync(join(directory, FILLER), Buffer.alloc(bavail * bsize));
}

export function freeDisk(directory: string): void {
  rmSync(join(directory, FILLER));
}

/** A small disk for one process alone, in namespaces of its own. */

import { spawnSync } from "node:child_process";

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

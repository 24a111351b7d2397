/**
 * Finds Prometheus and promtool for tests and for `npm run drill`.
 *
 *   found                                      then
 *   both on the PATH                           these
 *   downloaded earlier                         these
 *   apt-get and dpkg-deb (Debian, Ubuntu)      the package's files, unpacked next to other downloads;
 *                                              nothing is installed
 *   none of these                              the reason
 */

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";

import { findTool, type ToolSource } from "../find-tool.ts";
import type { Progress } from "../kafka/download.ts";
import { findOnPath } from "../kafka/java-home.ts";

const execute = promisify(execFile);
const SOURCE: ToolSource = {
  what: "Prometheus",
  size: "19 MB",
  name: "prometheus",
  file: "usr/bin",
  needs: "apt-get",
  fill: unpackPackage,
};

export type Found =
  | { readonly kind: "folder"; readonly folder: string }
  | { readonly kind: "none"; readonly why: string };

/** Returns the folder of `prometheus` and `promtool`. Does not throw if they are missing. */
export async function findPrometheus(signal: AbortSignal, progress: Progress): Promise<Found> {
  const own = findOnPath("prometheus");
  if (own !== null && findOnPath("promtool") !== null)
    return { kind: "folder", folder: dirname(own) };
  const tool = await findTool(SOURCE, signal, progress);
  return tool.kind === "file" ? { kind: "folder", folder: tool.file } : tool;
}

async function unpackPackage(target: string, signal: AbortSignal): Promise<void> {
  const inTarget = { cwd: target, signal };
  try {
    await execute("apt-get", ["download", "prometheus"], inTarget);
  } catch {
    // A new machine has no package lists, and only root may fetch them.
    await execute("apt-get", ["update"], { signal });
    await execute("apt-get", ["download", "prometheus"], inTarget);
  }
  const [archive = ""] = readdirSync(target).filter((name) => name.endsWith(".deb"));
  await execute("dpkg-deb", ["--extract", archive, "."], inTarget);
}

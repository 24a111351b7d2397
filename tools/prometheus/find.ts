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
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { cached, ensureDownloaded, type Progress } from "../kafka/download.ts";
import { findOnPath } from "../kafka/java-home.ts";

const execute = promisify(execFile);
const DOWNLOAD = { what: "Prometheus", size: "19 MB", name: "prometheus" };
const BINARIES = ["usr", "bin"];

export type Found =
  | { readonly kind: "folder"; readonly folder: string }
  | { readonly kind: "none"; readonly why: string };

/** Returns the folder of `prometheus` and `promtool`. Does not throw if they are missing. */
export async function findPrometheus(signal: AbortSignal, progress: Progress): Promise<Found> {
  const own = findOnPath("prometheus");
  if (own !== null && findOnPath("promtool") !== null)
    return { kind: "folder", folder: dirname(own) };
  const earlier = cached(DOWNLOAD);
  if (earlier !== null) return { kind: "folder", folder: join(earlier, ...BINARIES) };
  if (findOnPath("apt-get") === null || findOnPath("dpkg-deb") === null) {
    return none("prometheus, promtool and apt-get are not on the PATH");
  }
  try {
    const download = { ...DOWNLOAD, fill: unpackPackage };
    const folder = await ensureDownloaded(download, signal, progress);
    return { kind: "folder", folder: join(folder, ...BINARIES) };
  } catch (error) {
    if (signal.aborted) throw error;
    return none(`apt-get cannot download the package prometheus: ${(error as Error).message}`);
  }
}

function none(why: string): Found {
  return { kind: "none", why };
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

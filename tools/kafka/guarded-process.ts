/** Child processes that cannot outlive this one, however it ends (`guard.sh`). */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { join } from "node:path";
import { Writable } from "node:stream";

const GUARD = join(import.meta.dirname, "guard.sh");

export interface GuardedOptions {
  /** Standard output and standard error of the command. */
  readonly output: readonly ["ignore" | "inherit" | "pipe" | number, "inherit" | "pipe" | number];
  /** The environment; by default, that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** The working directory; by default, that of this process. */
  readonly cwd?: string;
}

/**
 * Starts a command in its own process group, so that Ctrl-C reaches only this process, which ends the
 * command gracefully. If this process dies before that, the guard kills the command.
 *
 * @param directory the guard removes it after it has killed the command; null for none.
 */
export function spawnGuarded(
  directory: string | null,
  command: readonly string[],
  { output, env = process.env, cwd = process.cwd() }: GuardedOptions,
): ChildProcess {
  const stdio: StdioOptions = ["ignore", ...output, "pipe"];
  const args = [GUARD, directory ?? "", ...command];
  const child = spawn("/bin/sh", args, { stdio, detached: true, env, cwd });
  const guard = child.stdio[3];
  guard?.on("error", () => undefined); // it has gone already
  if (guard instanceof Writable) child.once("exit", () => guard.end("ended\n"));
  return child;
}

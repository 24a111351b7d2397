/** Child processes that cannot outlive this one, however it ends (`guard.sh`). */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { join } from "node:path";
import { Writable } from "node:stream";

const GUARD = join(import.meta.dirname, "guard.sh");

export interface GuardedOptions {
  /** What its standard output and standard error are. */
  readonly output: readonly ["ignore" | "inherit" | "pipe" | number, "inherit" | "pipe" | number];
  /** By default this process's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Its working directory; by default this process's. */
  readonly cwd?: string;
}

/**
 * Starts a command in a process group of its own: Ctrl-C is for this process, which ends the
 * command in good order. If this process dies without having done so, the guard kills the command.
 *
 * @param directory removed by the guard after it has killed the command; null: none.
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

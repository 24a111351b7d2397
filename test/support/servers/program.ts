/**
 * Runs the program as child processes: `run` with its log, and commands. The processes end when the tests end, even
 * after a crash.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import { spawnGuarded } from "../../../tools/kafka/guarded-process.ts";

const MAIN = join(import.meta.dirname, "../../../src/main.ts");

export interface RunningProgram {
  readonly child: ChildProcess;
  /** The log lines so far, the newest last. */
  readonly lines: readonly Record<string, unknown>[];
  /**
   * Resolves with the first log line with this `msg`, or with the one of that number. Rejects if the program ends
   * first.
   */
  logged(msg: string, number?: number): Promise<Record<string, unknown>>;
  /** What the processes of this configuration have written to standard error. */
  readonly errors: readonly string[];
  /** The exit status; null if a signal ended the program. */
  readonly ended: Promise<number | null>;
  /** Kills the program immediately. */
  kill(): Promise<void>;
}

/**
 * A configuration, and all processes that are started with it. Disposing it kills the processes that still run, and
 * fails if Node has warned in any of them about too many listeners.
 */
export interface ProgramWorld extends AsyncDisposable {
  readonly directory: string;
  /** Path of the configuration. */
  readonly file: string;
  /** @param within a command that runs another one, for example in separate namespaces. */
  start(args?: readonly string[], within?: readonly string[]): RunningProgram;
  /** Runs a command to its end. */
  command(
    args: readonly string[],
  ): Promise<{ readonly status: number | null; readonly out: string; readonly err: string }>;
  /** Starts a command, without waiting for its end. @param output a file, instead of its standard output. */
  spawn(args: readonly string[], output?: number): ChildProcess;
}

/**
 * The environment's brokers and registry are not used.
 *
 * @param config YAML, or a function that writes the files of the directory and returns the configuration's path.
 */
export function programWorld(config: string | ((directory: string) => string)): ProgramWorld {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-program-"));
  const own = join(directory, "switchyard.yaml");
  if (typeof config === "string") writeFileSync(own, config);
  const file = typeof config === "string" ? own : config(directory);
  // The environment overrides the file, and here it may name the tests' brokers and registry.
  const { SWITCHYARD_KAFKA_BROKERS: _, SWITCHYARD_REGISTRY_URL: __, ...env } = process.env;
  const children = new Set<ChildProcess>();
  const errors: string[] = [];
  const launch = (
    args: readonly string[],
    within: readonly string[] = [],
    output: number | "pipe" = "pipe",
  ) => {
    // The state of audiences is stored below the working directory.
    const command = [...within, process.execPath, MAIN, ...args, "-c", file];
    const child = spawnGuarded(directory, command, {
      ...{ output: [output, "pipe"], env, cwd: directory },
    });
    children.add(child);
    child.once("close", () => children.delete(child));
    return child;
  };
  return {
    directory,
    file,
    start: (args = [], within = []) => running(launch(["run", ...args], within), errors),
    spawn: (args, output) => launch(args, [], output),
    command: async (args) => {
      const child = launch(args);
      const ended = once(child, "close").then(([status]) => status as number | null);
      const said = [child.stdout, child.stderr].map((stream) => text(stream ?? Readable.from([])));
      const [out = "", err = ""] = await Promise.all(said);
      errors.push(err);
      return { status: await ended, out, err };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...children].map(killed));
      rmSync(directory, { recursive: true, force: true });
      const piled = errors.filter((text) => text.includes("MaxListenersExceededWarning"));
      if (piled.length > 0) throw new Error(piled.join(""));
    },
  };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}

/** @param errors gets everything that the program writes to standard error. */
function running(child: ChildProcess, errors: string[]): RunningProgram {
  const lines: Record<string, unknown>[] = [];
  const looks = new Set<() => void>();
  const ended = once(child, "close").then(([status]) => status as number | null);
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(JSON.parse(line) as Record<string, unknown>);
      for (const look of looks) look();
    });
  }
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => errors.push(chunk));
  const logged = (msg: string, number = 1) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const look = () => {
        const line = lines.filter((each) => each.msg === msg)[number - 1];
        if (line === undefined) return;
        looks.delete(look);
        resolve(line);
      };
      looks.add(look);
      look();
      const over = (status: number | null) =>
        reject(new Error(`ended with ${status} before ${msg}: ${errors.join("")}`));
      ended.then(over, reject);
    });
  return { child, lines, errors, logged, ended, kill: () => killed(child) };
}

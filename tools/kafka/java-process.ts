/** Starts a Java program that listens, waits until it is ready, and kills it. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

import { spawnGuarded } from "./guarded-process.ts";

/**
 * This is long enough for a busy machine, and shorter than the limit of a test, whose error would not show the reason.
 */
const READY_LIMIT_MS = 110_000;
/** A broker whose controllers are down would wait for minutes before it stops. */
const STOP_LIMIT_MS = 30_000;
const QUOTED_LINES = 30;

export interface JavaProgram {
  /** Name to show. */
  readonly what: string;
  /** Absolute path of the program's own directory, which a guard removes. */
  readonly directory: string;
  /** Path of the log file, to which the output is appended. */
  readonly log: string;
  readonly command: readonly string[];
  /** Resolves when the program is ready; rejects when the signal aborts. */
  readonly untilReady: (signal: AbortSignal) => Promise<void>;
}

/**
 * Starts a program, and returns when it is ready. If the program ends before that, throws an error with the last lines
 * of its log. A guarded program is killed when its parent ends (guard.sh); a detached one keeps running.
 *
 * @param onLaunch called with the process before it is ready
 */
export async function startProgram(
  program: JavaProgram,
  mode: "guarded" | "detached",
  signal: AbortSignal,
  onLaunch: (process: ChildProcess) => void = () => undefined,
): Promise<ChildProcess> {
  const process = launch(program, mode);
  onLaunch(process);
  try {
    await untilReady(program, process, signal);
  } catch (cause) {
    await killProgram(process);
    signal.throwIfAborted();
    throw new Error(
      `${program.what} did not start. The end of its log:\n\n${lastLines(program.log)}\n\n` +
        `The whole log: ${program.log}`,
      { cause },
    );
  }
  if (mode === "detached") process.unref();
  return process;
}

type Launch = (
  signal: AbortSignal,
  onLaunch: (process: ChildProcess) => void,
) => Promise<ChildProcess>;

/** A guarded program that can be stopped, frozen and restarted. */
export class GuardedProgram implements AsyncDisposable {
  readonly #launch: Launch;
  #process: ChildProcess | null = null;

  /** @param launch starts the program. */
  constructor(launch: Launch) {
    this.#launch = launch;
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  /** Returns when the program is ready; immediately if it is running. */
  async start(signal = new AbortController().signal): Promise<void> {
    if (this.#process !== null) return;
    await this.#launch(signal, (process) => {
      this.#process = process;
    });
  }

  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = null;
    if (process !== null) await killProgram(process);
  }

  /** Sends SIGTERM, and SIGKILL after half a minute. Returns when the program is gone. */
  async stop(): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    const limit = setTimeout(() => process.kill("SIGKILL"), STOP_LIMIT_MS);
    process.kill("SIGTERM");
    await exited(process);
    clearTimeout(limit);
    this.#process = null;
  }

  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

/** Sends SIGKILL, like a power failure. Returns when the process is gone. */
export async function killProgram(program: ChildProcess): Promise<void> {
  const ended = exited(program);
  program.kill("SIGKILL");
  // SIGKILL also ends a process that was stopped with SIGSTOP.
  await ended;
}

/** Returns the exit status or the signal of a process that has ended or could not be started. */
export async function exited(process: ChildProcess): Promise<string> {
  if (process.exitCode !== null) return `exit status ${process.exitCode}`;
  if (process.signalCode !== null) return process.signalCode;
  const { promise, resolve } = Promise.withResolvers<string>();
  process.once("exit", (status, signal) => resolve(signal ?? `exit status ${status}`));
  process.once("error", (error) => resolve(error.message));
  return await promise;
}

export function lastLines(path: string): string {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(-QUOTED_LINES).join("\n");
}

function launch({ directory, log: path, command }: JavaProgram, mode: "guarded" | "detached") {
  const log = openSync(path, "a");
  // In a separate session, the program does not get the terminal's Ctrl-C. The process that started it ends it.
  const [file = "", ...args] = command;
  const process =
    mode === "guarded"
      ? spawnGuarded(directory, command, { output: [log, log] })
      : spawn(file, args, { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  return process;
}

async function untilReady(
  program: JavaProgram,
  process: ChildProcess,
  signal: AbortSignal,
): Promise<void> {
  const ready = new AbortController();
  const limit = AbortSignal.any([signal, ready.signal, AbortSignal.timeout(READY_LIMIT_MS)]);
  const ended = exited(process).then((status) => {
    throw new Error(`it ended with ${status}`);
  });
  try {
    await Promise.race([program.untilReady(limit), ended]);
  } finally {
    ready.abort();
  }
}

/** A Java program that listens: starting it, until it is ready, and killing it. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

import { spawnGuarded } from "./guarded-process.ts";

/** For one that hangs, not for a machine that is busy; less than the limit of a test, which could not say why. */
const READY_LIMIT_MS = 110_000;
/** Without its controllers a broker waits for minutes to be let go. */
const STOP_LIMIT_MS = 30_000;
const QUOTED_LINES = 30;

export interface JavaProgram {
  /** For people. */
  readonly what: string;
  /** Of its own; a guard removes it. Absolute path. */
  readonly directory: string;
  /** Path of the file that its output is added to. */
  readonly log: string;
  readonly command: readonly string[];
  /** Resolves when it is ready; rejects when the signal aborts. */
  readonly untilReady: (signal: AbortSignal) => Promise<void>;
}

/**
 * Starts a program and returns when it is ready. If it ends first, throws with its last lines. A
 * guarded one dies with its parent, however that ends (guard.sh); a detached one stays.
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

/** A guarded program that is ended, frozen and started again. */
export class GuardedProgram implements AsyncDisposable {
  readonly #launch: Launch;
  #process: ChildProcess | null = null;

  /** @param launch starts it. */
  constructor(launch: Launch) {
    this.#launch = launch;
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  /** Returns when it is ready; at once when it runs. */
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

  /** SIGTERM. Returns when it is gone; one that takes longer than half a minute is killed. */
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

/** SIGKILL, as if the machine had lost power. Returns when the process is gone. */
export async function killProgram(program: ChildProcess): Promise<void> {
  const ended = exited(program);
  program.kill("SIGKILL");
  // One that was stopped with SIGSTOP ends all the same.
  await ended;
}

/** Its exit status or signal; a process that could not be started has ended as well. */
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
  // A session of its own keeps the terminal's Ctrl-C away: whoever started the program ends it.
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

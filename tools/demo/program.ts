/** Runs Switchyard as a child process of the demonstration, and reads its log line by line. */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

import { spawnGuarded } from "../kafka/guarded-process.ts";

const ROOT = join(import.meta.dirname, "../..");
const QUOTED_LINES = 15;

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface Program {
  readonly pid: number;
  /**
   * Resolves when the log has `ready`, or `ready.partial` if some stages have not joined their groups. If the program
   * ends before that, rejects with a quote from the log.
   */
  readonly ready: Promise<void>;
  /** Resolves with the exit status. */
  readonly ended: Promise<number | null>;
  /** Sends SIGTERM, and waits for the end. */
  stop(): Promise<number | null>;
}

export interface ProgramOptions {
  /** Arguments after `run --config FILE`. */
  readonly args?: readonly string[];
  /** Added to the environment, which overrides the file. */
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the program, for example in its own namespaces; by default none. */
  readonly within?: readonly string[];
  /** Called with each line of output, whether or not it is a line of the log. */
  readonly onText?: (line: string) => void;
}

/** Returns the command with the same entry file as for users, so that the program has its V8 flags. */
function programCommand(configFile: string, args: readonly string[]): readonly string[] {
  const program = join(ROOT, "bin/switchyard.js");
  return [process.execPath, program, "run", "--config", configFile, ...args];
}

/**
 * Starts `switchyard run` on a configuration file. The guard ends it, and removes the file's
 * directory, if this process dies without having stopped it.
 */
export function startProgram(
  configFile: string,
  onLog: (line: LogLine) => void,
  { args = [], env = {}, within = [], onText }: ProgramOptions = {},
): Program {
  const command = [...within, ...programCommand(configFile, args)];
  const child = spawnGuarded(dirname(configFile), command, {
    output: ["pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const last: string[] = [];
  const ready = Promise.withResolvers<void>();
  const read = (text: string) => {
    onText?.(text);
    last.push(text);
    if (last.length > QUOTED_LINES) last.shift();
    const line = parseLine(text);
    if (line === null) return;
    if (line.msg === "ready" || line.msg === "ready.partial") ready.resolve();
    onLog(line);
  };
  for (const input of [child.stdout, child.stderr]) {
    if (input !== null) createInterface({ input }).on("line", read);
  }
  const ended = endOf(child).then((status) => {
    ready.reject(new Error(`switchyard run ended with status ${status}:\n${last.join("\n")}`));
    return status;
  });
  // If nothing awaits `ready`, its rejection must not count as unhandled.
  ready.promise.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    ready: ready.promise,
    ended,
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [status] = (await once(child, "close")) as [number | null];
  return status;
}

function parseLine(text: string): LogLine | null {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null && "msg" in line ? (line as LogLine) : null;
  } catch {
    // The line is not JSON, for example a warning from Node.
    return null;
  }
}

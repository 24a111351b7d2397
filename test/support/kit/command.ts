/** Runs a command of the program to its end. */

import { join } from "node:path";
import { text } from "node:stream/consumers";

import { spawnGuarded } from "../../../tools/kafka/guarded-process.ts";

export interface CommandEnd {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
  readonly tookMs: number;
}

const MAIN = join(import.meta.dirname, "../../../src/main.ts");

export interface StartedCommand {
  readonly ended: Promise<CommandEnd>;
  /** Interrupts the command, like Ctrl-C. */
  readonly interrupt: () => void;
}

export function startCommand(args: readonly string[]): StartedCommand {
  const startedAtMs = Date.now();
  // The environment overrides the file, and may name other brokers.
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const command = [process.execPath, MAIN, ...args];
  const child = spawnGuarded(null, command, { output: ["pipe", "pipe"], env });
  if (child.stdout === null || child.stderr === null) throw new Error("it has no output");
  const ended = Promise.withResolvers<number | null>();
  child.once("error", ended.reject).once("close", ended.resolve);
  const outputs = [text(child.stdout), text(child.stderr)] as const;
  const end = async () => {
    const [out, err, status] = await Promise.all([...outputs, ended.promise]);
    return { status, out, err, tookMs: Date.now() - startedAtMs };
  };
  return { ended: end(), interrupt: () => child.kill("SIGINT") };
}

/**
 * Writes log lines as JSON to standard output, with pino. At level info, lines contain no secret, payload or user
 * ID. Pure code never logs; other code gets a `Log` as an argument.
 *
 * A thread writes all lines that are logged within 50 ms together, in blocks of at most 65,536 bytes. Writing each line
 * separately would cost 20 µs, because the thread would have to be woken up for each. Lines that are logged for each
 * delivery wait for 250 ms, or until any other line is logged. Callers pass these lines as finished text (`infoText`),
 * because most of the cost of a line is pino, and the search for characters that could control a terminal. On
 * `process.exit` and uncaught exceptions, the remaining lines are written, possibly before those that the thread is
 * writing (see `flushLog`); on SIGKILL, they are lost. Without the thread, SIGKILL would lose no lines, but a slow
 * reader of the output would block all other work.
 */

import { write as writeFile, writeSync } from "node:fs";
import { type Level, pino } from "pino";
import { visibleText } from "../../domain/escape-control.ts";
import { isoTimestamps } from "../../domain/timestamp.ts";
import type { Exactly, FieldsOf, LineAt } from "./log-lines/log-lines.ts";
import { LogOutput } from "./log-output.ts";

/** Writes a line from the table in `log-lines/log-lines.ts`, with the fields that the table lists for this line. */
export type WriteLine<On extends LogLevel> = <
  Name extends LineAt<On>,
  Fields extends FieldsOf<Name>,
>(
  fields: Exactly<Name, Fields>,
  msg: Name,
) => void;

/** The part of pino that the stages use. */
export interface Log {
  readonly isLevelEnabled: (level: Level) => boolean;
  readonly debug: WriteLine<"debug">;
  readonly info: WriteLine<"info">;
  readonly warn: WriteLine<"warn">;
  readonly error: WriteLine<"error">;
  /**
   * Does the same as `info`, for lines that are logged for each delivery. Call it only if level info is enabled.
   *
   * @param fields the fields as JSON without the outer braces, in visible ASCII only.
   */
  readonly infoText: (fields: string, msg: LineAt<"info">) => void;
}

interface LogDestination {
  /** Absent if lines cannot be dropped. */
  readonly output?: LogOutput;
  write(line: string): void;
  /** Resolves when all lines are written, or nobody reads them any more. */
  flush?(): Promise<void>;
  /** Writes a line of visible ASCII characters that ends with a line feed. If this is absent, `write` is used. */
  writePlain?(line: string): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

const GATHER_MS = 50;
/** How long lines that are logged for each delivery wait. */
const GATHER_PLAIN_MS = 250;
const GATHER_BYTES = 65_536;
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UTF8_MAX_BYTES = 3;

/** @param destination an object with `write`; by default, standard output. */
export function createLog(level: LogLevel, destination: LogDestination = standardOutput()): Log {
  // Writes the time in the format of pino's `isoTime`, which would take 4 µs per line.
  const isoTime = isoTimestamps();
  const timestamp = () => `,"time":"${isoTime(Date.now())}"`;
  const formatters = { level: (name: string) => ({ level: name }) };
  const lines = pino({ level, base: null, timestamp, formatters }, destination);
  const { output } = destination;
  if (output !== undefined) {
    const msg: LineAt<"warn"> = "log.lines-dropped";
    output.onResumed = (error, count) => lines.warn({ error, count }, msg);
  }
  const infoText = (fields: string, msg: LineAt<"info">) => {
    const line = `{"level":"info"${timestamp()},${fields},"msg":"${msg}"}\n`;
    if (destination.writePlain === undefined) destination.write(line);
    else destination.writePlain(line);
  };
  return Object.assign(lines, { infoText });
}

let shared: LogDestination | null = null;

/** Writes the lines so far. Call it before `process.exit`, so that the last lines are at the end. Never rejects. */
export async function flushLog(): Promise<void> {
  await shared?.flush?.();
}

/** The number of lines that could not be written to standard output. */
export function droppedLines(): number {
  return shared?.output?.dropped ?? 0;
}

/** A sentence for `/readyz` while standard output cannot be written. */
export function logProblems(): readonly string[] {
  const problem = shared?.output?.problem ?? null;
  if (problem === null) return [];
  return [`the log cannot be written to standard output: ${problem}`];
}

/** Returns the output that all writers share. */
function standardOutput(): LogDestination {
  shared ??= gatheredOutput();
  return shared;
}

/** Collects lines as bytes. A string would keep in memory all of the many pieces from which it was built. */
function gatheredOutput(): LogDestination {
  const block = Buffer.allocUnsafeSlow(GATHER_BYTES);
  let used = 0;
  let timer: NodeJS.Timeout | undefined;
  let writesAtMs = Number.POSITIVE_INFINITY;
  const write = () => {
    clearTimeout(timer);
    writesAtMs = Number.POSITIVE_INFINITY;
    if (used === 0) return;
    output.write(Buffer.from(block.subarray(0, used)));
    used = 0;
  };
  const writeWithin = (ms: number) => {
    const atMs = performance.now() + ms;
    if (writesAtMs <= atMs) return;
    clearTimeout(timer);
    writesAtMs = atMs;
    timer = setTimeout(write, ms).unref();
  };
  const { fd } = process.stdout;
  const output = new LogOutput({
    write: (bytes, done) => writeFile(fd, bytes, done),
    writeSync: (bytes) => writeSync(fd, bytes),
  });
  process.on("beforeExit", write);
  process.on("exit", () => {
    write();
    output.flushSync();
  });
  const gather = (line: string, maxBytes: number, encoding: "utf8" | "latin1") => {
    if (used + maxBytes > GATHER_BYTES) write();
    if (maxBytes > GATHER_BYTES) {
      output.write(Buffer.from(line));
      return;
    }
    used += block.write(line, used, encoding);
    writeWithin(encoding === "utf8" ? GATHER_MS : GATHER_PLAIN_MS);
  };
  return {
    output,
    write: (json) => {
      // Standard output may be a terminal, which control characters could affect.
      const line = visibleText(json);
      gather(line, line.length * UTF8_MAX_BYTES, "utf8");
    },
    writePlain: (line) => gather(line, line.length, "latin1"),
    flush: () => {
      write();
      return output.flush();
    },
  };
}

/**
 * Logs: JSON lines from pino on standard output. No secret, payload or user ID at level info.
 * Core code never logs; shells receive a `Log`.
 *
 * Lines within 50 ms are written together, in blocks of at most 65,536 bytes, while other work continues.
 * Writing each line would cost 20 us to wake the writing thread. A line that is logged for each delivery
 * waits for 250 ms, or for any other line, and is passed as text, because pino and the search for characters that
 * could control a terminal take most of a line's time. `process.exit` and uncaught exceptions write the rest;
 * SIGKILL loses it. Without that thread SIGKILL would lose nothing, but a slow reader would block all other work.
 */

import { type Level, pino } from "pino";
import { visibleText } from "../domain/escape-control.ts";
import { isoTimestamps } from "../domain/timestamp.ts";
import type { Exactly, FieldsOf, LineAt } from "./log-lines/log-lines.ts";

/** Writes a line of the table `log-lines/log-lines.ts`, with the fields that it has there. */
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
   * The same as `info`, for a line that is logged for each delivery. Only if that level is enabled.
   *
   * @param fields as JSON, without the braces around it, and nothing but visible ASCII.
   */
  readonly infoText: (fields: string, msg: LineAt<"info">) => void;
}

interface Lines {
  write(line: string): void;
  /** Writes visible ASCII and a line feed only. By default like any other line. */
  writePlain?(line: string): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

const GATHER_MS = 50;
/** For lines that are logged for each delivery. */
const GATHER_PLAIN_MS = 250;
const GATHER_BYTES = 65_536;
/** The most bytes of a UTF-16 code unit. */
const UTF8_MAX_BYTES = 3;

/** @param destination anything with `write`, by default standard output. */
export function createLog(level: LogLevel, destination: Lines = standardOutput()): Log {
  // As pino's own `isoTime` writes it, which is 4 us of a line.
  const isoTime = isoTimestamps();
  const timestamp = () => `,"time":"${isoTime(Date.now())}"`;
  const formatters = { level: (name: string) => ({ level: name }) };
  const lines = pino({ level, base: null, timestamp, formatters }, destination);
  const infoText = (fields: string, msg: LineAt<"info">) => {
    const line = `{"level":"info"${timestamp()},${fields},"msg":"${msg}"}\n`;
    if (destination.writePlain === undefined) destination.write(line);
    else destination.writePlain(line);
  };
  return Object.assign(lines, { infoText });
}

let shared: Lines | null = null;

/** There is one for all writers. */
function standardOutput(): Lines {
  shared ??= gatheredOutput();
  return shared;
}

/** Stores bytes, because a line is a string of many pieces, all of which would be kept. */
function gatheredOutput(): Lines {
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
  // Before pino's own listeners, which write all that it was handed.
  process.on("beforeExit", write);
  process.on("exit", write);
  // It could gather by itself, but then it measures everything it has for each new line.
  const stdout = { dest: process.stdout.fd, sync: false, contentMode: "buffer" as const };
  // Its types only know strings.
  const output = pino.destination(stdout) as unknown as { write(bytes: Buffer): void };
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
    write: (json) => {
      // Standard output may be a terminal.
      const line = visibleText(json);
      gather(line, line.length * UTF8_MAX_BYTES, "utf8");
    },
    writePlain: (line) => gather(line, line.length, "latin1"),
  };
}

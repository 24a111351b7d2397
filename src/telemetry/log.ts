/**
 * Logs: JSON lines by pino on standard output. No secret, payload or user id at level info.
 * Core code never logs; shells are handed a `Log`.
 *
 * Lines that come within 50 ms go out in one write, or in one for each 65,536 bytes, while other
 * work goes on. A write for each line would cost 20 us to wake the thread that writes. A line that
 * comes with each delivery waits for 250 ms, or for any other line, and is handed over as text: pino
 * and a look for what could steer a terminal are most of what a line costs.
 * `process.exit` and uncaught exceptions write the rest; SIGKILL loses it. Writing without that
 * thread would lose nothing to SIGKILL, but a slow reader would hold up all other work.
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
   * The same as `info`, for a line that comes with each delivery. Only where that level is enabled.
   *
   * @param fields as JSON, without the braces around it, and nothing but visible ASCII.
   */
  readonly infoText: (fields: string, msg: LineAt<"info">) => void;
}

interface Lines {
  write(line: string): void;
  /** Of visible ASCII and a line feed alone. By default as any other. */
  writePlain?(line: string): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

const GATHER_MS = 50;
/** Of lines that come with each delivery. */
const GATHER_PLAIN_MS = 250;
const GATHER_BYTES = 65_536;
/** Of a code unit. */
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

/** As bytes, since a line comes as a text of many pieces, all of which would be kept. */
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
  // It could gather by itself, but measures all that it has for each line that comes.
  const stdout = { dest: process.stdout.fd, sync: false, contentMode: "buffer" as const };
  // Its types know only texts.
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

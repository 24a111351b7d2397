/**
 * Logs: JSON lines by pino on standard output. No secret, payload or user id at level info.
 * Core code never logs; shells are handed a `Log`.
 *
 * Lines go out while other work goes on: those that come during a write are written together by the
 * next one. `process.exit` and exceptions that nobody catches write what is left; SIGKILL loses it.
 * Waiting for 4 KiB each time would save 1 or 2 us of CPU a line, where a failed attempt costs 600.
 * Writing at once would lose nothing to SIGKILL, but a slow reader would hold up all other work.
 */

import { type Level, pino } from "pino";

export type LogFields = Readonly<Record<string, unknown>>;

/** The part of pino that the stages use. `msg` is a stable name such as `delivery.attempted`. */
export interface Log {
  readonly isLevelEnabled: (level: Level) => boolean;
  debug(fields: LogFields, msg: string): void;
  info(fields: LogFields, msg: string): void;
  warn(fields: LogFields, msg: string): void;
  error(fields: LogFields, msg: string): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** @param destination anything with `write`, by default standard output. */
export function createLog(level: LogLevel, destination?: { write(line: string): void }): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return destination === undefined ? pino(options) : pino(options, destination);
}

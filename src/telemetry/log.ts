/**
 * Logs: JSON lines by pino on standard output. No secret, payload or user id at level info.
 * Core code never logs; shells are handed a `Log`.
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

/** @param destination anything with `write`, by default standard output (asynchronous, flushed on exit). */
export function createLog(level: LogLevel, destination?: { write(line: string): void }): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return destination === undefined ? pino(options) : pino(options, destination);
}

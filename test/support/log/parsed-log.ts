/** The log as it is written in production, on every level, with its lines read back. */

import { createLog, type Log } from "../../../src/telemetry/log.ts";

export interface ParsedLog {
  readonly log: Log;
  /** Grows with each line. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

export function parsedLog(): ParsedLog {
  const lines: Record<string, unknown>[] = [];
  return { log: createLog("debug", { write: (line) => lines.push(JSON.parse(line)) }), lines };
}

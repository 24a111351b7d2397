/** The log as it is written in production, at every level, with its lines parsed again. */

import { createLog, type Log } from "../../../src/base/telemetry/log.ts";

export interface ParsedLog {
  readonly log: Log;
  /** The lines so far. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

export function parsedLog(): ParsedLog {
  const lines: Record<string, unknown>[] = [];
  return { log: createLog("debug", { write: (line) => lines.push(JSON.parse(line)) }), lines };
}

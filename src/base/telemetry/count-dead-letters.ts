/** Counts the dead letters of a stage and logs them, with at most ten lines per second. */

import type { DeadLetter } from "../../domain/dead-letter-records.ts";
import { callNames, DELIVERY_HEADER } from "../../domain/delivery.ts";
import { isDestinationId } from "../../domain/ids.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { Metrics } from "./instruments.ts";
import type { Log } from "./log.ts";
import { LineLimit } from "./log-rate-limit.ts";

const LINES_PER_SECOND = 10;

export interface CountDeadLettersDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: { nowMs(): number };
}

/** The metric counts all dead letters. If log lines were omitted, the next line contains their number. */
export function countDeadLetters(
  deps: CountDeadLettersDeps,
): (deadLetters: readonly DeadLetter[]) => void {
  const { metrics, log, clock } = deps;
  const lines = new LineLimit(LINES_PER_SECOND);
  return (deadLetters) => {
    for (const { stage, record, reason, error, outgoing } of deadLetters) {
      metrics.recordsRefused.bind({ stage, reason }).inc();
      const destination = destinationOf(outgoing);
      metrics.deadLetters.bind({ stage, reason, destination }).inc();
      const omittedLines = lines.admit(clock.nowMs());
      if (omittedLines === null) continue;
      const { topic, partition, offset } = record;
      const names = { ...callNames(outgoing.headers), ...(destination !== "" && { destination }) };
      const fields = { stage, ...names, reason, error, topic, partition, offset, omittedLines };
      log.warn(fields, "record.dead-lettered");
    }
  };
}

/** The destination as a label; empty if there is none. */
export function destinationOf({ headers }: OutgoingRecord): string {
  const value = headers.findLast(([name]) => name === DELIVERY_HEADER.destination)?.[1];
  const text = value?.toString() ?? "";
  return isDestinationId(text) ? text : "";
}

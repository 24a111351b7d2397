/**
 * Creates the records to write when the wait of a record is over.
 *
 *   what happened                        the record
 *   it is due                            is written unchanged, with its headers, to its destination's topic
 *   ... and its trace is sampled         is written in the same way, but with the trace context of the delay
 *   it must be dead-lettered             becomes a dead letter with all its headers
 *   it is too large for that topic       becomes a dead letter with the reason too-large
 *   the dead letter is too large         is reduced to the part that fits (`domain/cut.ts`)
 */

import type { Became, DeadLettered } from "../domain/dead-letter-records.ts";
import { forwarded, type IncomingRecord, type OutgoingRecord } from "../domain/record.ts";
import { type TraceContext, withTrace } from "../domain/trace-context.ts";
import type { Due } from "./partition-queue.ts";

export interface Returned extends Became {
  readonly dueAtMs: number;
}

export interface Outgoing {
  readonly returned: readonly Returned[];
  readonly deadLettered: readonly DeadLettered[];
}

/** @param traceOf returns the trace for the record after the delay, or null if the record stays unchanged. */
export function outgoingOf(
  due: readonly Due[],
  traceOf: (record: IncomingRecord) => TraceContext | null = () => null,
): Outgoing {
  const returned: Returned[] = [];
  const deadLettered: DeadLettered[] = [];
  for (const { waiting, verdict } of due) {
    const { record } = waiting;
    if (verdict.kind === "return") {
      const { dueAtMs, topic } = verdict;
      returned.push({ record, dueAtMs, records: [back(record, topic, traceOf(record))] });
    } else {
      const { reason, error } = verdict;
      deadLettered.push({ record, reason, error });
    }
  }
  return { returned, deadLettered };
}

function back(record: IncomingRecord, topic: string, trace: TraceContext | null): OutgoingRecord {
  if (trace === null) return forwarded(record, topic);
  const { key, value, headers } = record;
  return { topic, key, value, headers: withTrace(headers, trace) };
}

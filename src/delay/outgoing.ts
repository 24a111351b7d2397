/**
 * The records that are written for those that have waited long enough.
 *
 *   what happened                        the record
 *   it is due                            goes as it came, headers included, to its destination's topic
 *   ... and its trace is kept            the same, but that it belongs to the trace of the delay
 *   the verdict is a dead letter         a dead letter with all its headers
 *   the brokers find it too large for    the same, too-large
 *     that topic
 *   they find a dead letter too large    what fits of it (`domain/cut.ts`)
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

/** @param traceOf the trace of a delay that is over; null: the record stays as it is. */
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

/** Counts the records that a producer writes, and reports slow sends. */

import type { Clock } from "../../base/runtime/clock.ts";
import { type InFlightItem, InFlightSet } from "../../base/runtime/in-flight-set.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { Producer, RejectedRecord, SendOptions } from "../../kafka/port.ts";

/** A send that takes longer than this time is reported as a problem. */
const SLOW_MS = 5_000;

export interface WatchedWriter {
  readonly send: (
    records: readonly OutgoingRecord[],
    options?: SendOptions,
  ) => Promise<readonly RejectedRecord[]>;
  readonly healthProblems: () => readonly string[];
}

/** @param onAcknowledged called with the number of records that a send has written. */
export function watchedWriter(
  producer: Producer,
  clock: Clock,
  onAcknowledged: (records: number) => void,
): WatchedWriter {
  const underWay = new InFlightSet<InFlightItem & { readonly sentAtMs: number }>();
  return {
    send: async (records, options) => {
      const send = { place: -1, sentAtMs: clock.nowMs() };
      underWay.add(send);
      try {
        const refused = await producer.send(records, options);
        onAcknowledged(records.length - refused.length);
        return refused;
      } finally {
        underWay.delete(send);
      }
    },
    healthProblems: () => {
      const nowMs = clock.nowMs();
      const waitedMs = Math.max(0, ...underWay.all().map(({ sentAtMs }) => nowMs - sentAtMs));
      if (waitedMs < SLOW_MS) return [];
      return [`the brokers have not acknowledged a write for ${Math.round(waitedMs / 1_000)} s`];
    },
  };
}

/**
 * Passes records to the producer and waits for their acknowledgment, up to a time limit.
 *
 *   the records of a request                      the request
 *   are all acknowledged, or too large            gets that result
 *   are not acknowledged in time                  counts as late; the records are still written
 *   wait in a producer that is closed             counts as late
 *
 * While the oldest records have been waiting for longer than the limit, the caller should not pass more records.
 * During an outage, clients repeat the same calls, and each repetition would be written.
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { Producer, RejectedRecord } from "../../kafka/port.ts";

export type HandedOver =
  | { readonly kind: "acknowledged"; readonly refused: readonly RejectedRecord[] }
  | { readonly kind: "late" };

export interface HandOver {
  /**
   * @param answerByMs when to stop waiting, with a precision of a quarter of a second.
   * @param onOver called once, when the producer no longer holds the records.
   */
  send(
    records: readonly OutgoingRecord[],
    answerByMs: number,
    onOver: () => void,
  ): Promise<HandedOver>;
  /** How long the oldest records have been waiting; 0 if there are none. */
  oldestWaitMs(): number;
}

const LOOK_EVERY_MS = 250;
const LATE: HandedOver = { kind: "late" };

export function createHandOver(producer: Pick<Producer, "send">, clock: Clock): HandOver {
  // A set keeps the order of insertion, so the first entry has been waiting for the longest time.
  const waiting = new Set<{
    readonly sinceMs: number;
    readonly answerByMs: number;
    readonly late: () => void;
  }>();
  const never = new AbortController().signal;
  let isLooking = false;

  // There is one timer for all records. It runs only while records are waiting.
  const look = async () => {
    isLooking = true;
    while (waiting.size > 0) {
      await clock.sleep(LOOK_EVERY_MS, never);
      const nowMs = clock.nowMs();
      for (const { answerByMs, late } of waiting) if (answerByMs <= nowMs) late();
    }
    isLooking = false;
  };

  return {
    send: (records, answerByMs, onOver) =>
      new Promise((resolve) => {
        const entry = { sinceMs: clock.nowMs(), answerByMs, late: () => resolve(LATE) };
        waiting.add(entry);
        const over = (outcome: HandedOver) => {
          waiting.delete(entry);
          onOver();
          resolve(outcome);
        };
        producer.send(records).then(
          (refused) => over({ kind: "acknowledged", refused }),
          // The producer was closed because the process is shutting down, so the client has to retry.
          () => over(LATE),
        );
        if (!isLooking) void look();
      }),
    oldestWaitMs: () => {
      const [oldest] = waiting;
      return oldest === undefined ? 0 : clock.nowMs() - oldest.sinceMs;
    },
  };
}

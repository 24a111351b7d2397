/**
 * Hands records to the producer and waits for their acknowledgement, but not for ever.
 *
 *   the records of a request                      the request
 *   are all acknowledged, or too large            is answered with that
 *   are not acknowledged in time                  is answered late; they are sent all the same
 *   wait in a producer that is closed             is answered late
 *
 * While the oldest records wait for longer than the limit, nothing more should be handed over:
 * clients send the same calls again and again in an outage, and each time would be written.
 */

import type { OutgoingRecord } from "../domain/record.ts";

/** The part of Kafka's producer that is used. */
export interface Sender {
  send(records: readonly OutgoingRecord[]): Promise<readonly Refused[]>;
}

export interface Refused {
  readonly record: OutgoingRecord;
  readonly error: string;
}

export interface Sleeper {
  nowMs(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export type HandedOver =
  | { readonly kind: "acknowledged"; readonly refused: readonly Refused[] }
  | { readonly kind: "late" };

export interface HandOver {
  /**
   * @param answerByMs when to stop waiting, to a quarter of a second.
   * @param onOver called once, when the records need no memory any more.
   */
  send(
    records: readonly OutgoingRecord[],
    answerByMs: number,
    onOver: () => void,
  ): Promise<HandedOver>;
  /** For how long the oldest records have waited; 0 when none do. */
  oldestWaitMs(): number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly answerByMs: number;
  readonly late: () => void;
}

const LOOK_EVERY_MS = 250;
const LATE: HandedOver = { kind: "late" };

export function createHandOver(sender: Sender, clock: Sleeper): HandOver {
  // A set keeps its order, so the first one has waited longest.
  const waiting = new Set<Waiting>();
  const never = new AbortController().signal;
  let isLooking = false;

  // One timer for all of them, and only while there are any.
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
        sender.send(records).then(
          (refused) => over({ kind: "acknowledged", refused }),
          // Closed: the process is ending, and the client has to send again.
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

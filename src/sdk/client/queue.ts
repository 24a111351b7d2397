/**
 * Keeps calls in the order in which they were made, and limits their number and bytes.
 *
 *   a call that is added                  result
 *   exceeds neither limit                 waits
 *   would exceed one of them              is rejected; earlier calls stay
 *
 * A call counts toward the limits until it leaves the queue. Calls in a request are still in the queue.
 */

import type { EncodedCall } from "./encode.ts";

export interface QueueBounds {
  readonly callsMax: number;
  readonly maxBytes: number;
}

export interface Queue {
  readonly count: number;
  /** Bytes of JSON of the calls in the queue. */
  readonly bytes: number;
  /** Number of calls ever added, which is the number of the newest call, counted from 1. */
  readonly added: number;
  /** Number of calls ever dropped. */
  readonly dropped: number;
  /** Returns false if the call does not fit. */
  add(call: EncodedCall): boolean;
  /** The waiting calls, the oldest first. */
  waiting(): Iterable<EncodedCall>;
  /** Removes the `count` oldest calls. */
  drop(count: number): void;
}

/** When this many calls have been dropped, they are removed from the list. */
const CUT_AFTER = 1_024;

export function createQueue({ callsMax, maxBytes }: QueueBounds): Queue {
  let calls: EncodedCall[] = [];
  let head = 0;
  let bytes = 0;
  let added = 0;
  let dropped = 0;
  return {
    get count() {
      return added - dropped;
    },
    get bytes() {
      return bytes;
    },
    get added() {
      return added;
    },
    get dropped() {
      return dropped;
    },
    add: (call) => {
      if (added - dropped >= callsMax || bytes + call.bytes > maxBytes) return false;
      calls.push(call);
      added += 1;
      bytes += call.bytes;
      return true;
    },
    *waiting() {
      for (let at = head; at < calls.length; at += 1) yield calls[at] as EncodedCall;
    },
    drop: (count) => {
      for (const call of calls.slice(head, head + count)) bytes -= call.bytes;
      calls.fill(SENT, head, head + count);
      head += count;
      dropped += count;
      if (head < CUT_AFTER && head < calls.length) return;
      calls = calls.slice(head);
      head = 0;
    },
  };
}

/** Replaces a dropped call, so that its text can be freed immediately. */
const SENT: EncodedCall = { json: "", bytes: 0 };

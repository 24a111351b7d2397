/**
 * Forms batch requests: as many calls, in order, as both limits allow.
 *
 *   limit                     counts
 *   calls (`flushAt`)         calls
 *   500 KB                    bytes of the request's body: envelope, calls, commas
 */

import type { EncodedCall } from "./encode.ts";

/** 500 KB, of the request's body. */
export const BATCH_MAX_BYTES = 500 * 1_024;

/** Bytes around the calls: `sentAt` always has 24 characters. */
const ENVELOPE_BYTES = batchBody([], 0).length;

/** @param sentAtMs milliseconds since the epoch, before the year 10000. */
export function batchBody(calls: readonly EncodedCall[], sentAtMs: number): string {
  const sentAt = new Date(sentAtMs).toISOString();
  return `{"batch":[${calls.map(({ json }) => json).join(",")}],"sentAt":"${sentAt}"}`;
}

/** The size of `batchBody` in UTF-8, for calls of `callsBytes` together. */
export function batchBytes(callsBytes: number, count: number): number {
  return ENVELOPE_BYTES + callsBytes + Math.max(0, count - 1);
}

/** The calls from the front of `waiting` that go into one request; at least one. */
export function nextBatch(waiting: Iterable<EncodedCall>, callsMax: number): EncodedCall[] {
  const batch: EncodedCall[] = [];
  let callsBytes = 0;
  for (const call of waiting) {
    const isFull =
      batch.length === callsMax ||
      batchBytes(callsBytes + call.bytes, batch.length + 1) > BATCH_MAX_BYTES;
    if (isFull && batch.length > 0) break;
    batch.push(call);
    callsBytes += call.bytes;
  }
  return batch;
}

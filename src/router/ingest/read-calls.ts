/**
 * Reads the calls of a body in slices, so that other requests do not have to wait until all calls of a large body
 * have been read.
 *
 *   in the body          on a single path      in a batch
 *   a valid call         a record              a record
 *   an invalid call      invalid               rejected and counted by reason; the other calls continue
 *   a suppressed user's  counted               counted
 *   a call with NaN      repaired              repaired and counted
 *   a call not in UTF-8  (rejected before)     rejected
 */

import { isUtf8 } from "node:buffer";

import type { OutgoingRecord } from "../../domain/record.ts";
import type { Outline } from "./read-body.ts";
import { type CallFrame, type RejectedReason, readCall } from "./read-call.ts";

/** A call that is not accepted. `error` does not quote the call. */
export interface Rejected {
  readonly reason: RejectedReason;
  readonly error: string;
}

export interface CallsRead {
  readonly records: OutgoingRecord[];
  /** Bytes of memory that the records take. */
  bytes: number;
  repaired: number;
  /** Calls that are accepted but not written, because their users are suppressed. */
  suppressed: number;
  /** For each reason, how many calls were rejected, and the error of the first of them. */
  readonly rejected: Map<RejectedReason, { count: number; readonly error: string }>;
}

export type ReadState = "more" | "done" | "too-much";

/** Memory that a waiting record takes in addition to its key and value. */
const RECORD_OVERHEAD_BYTES = 300;

/** Total size of the records that are created in one slice. */
const TURN_BYTES = 262_144;

const NOT_UTF8 = {
  kind: "rejected",
  reason: "invalid-call",
  error: "the call is not UTF-8",
} as const;

export interface CallsReader {
  readonly read: CallsRead;
  /**
   * Reads the next calls. Only after the result "more" are there more calls to read.
   *
   * @param grow called with the bytes that each record takes; returns false if these bytes exceed a limit.
   */
  next(callsMax: number, grow: (bytes: number) => boolean): ReadState;
}

export function readCalls(bytes: Buffer, outline: Outline, frame: CallFrame): CallsReader {
  const { calls, isUtf8: isAllUtf8 } = outline;
  let at = 0;
  const read: CallsRead = {
    records: [],
    bytes: 0,
    repaired: 0,
    suppressed: 0,
    rejected: new Map(),
  };
  const next = (callsMax: number, grow: (bytes: number) => boolean): ReadState => {
    const bytesEnd = read.bytes + TURN_BYTES;
    for (const end = at + callsMax; at < end && read.bytes < bytesEnd; at += 1) {
      const sent = calls[at];
      if (sent === undefined) return "done";
      const isText = isAllUtf8 || isUtf8(bytes.subarray(sent.start, sent.end));
      const call = isText ? readCall(bytes, sent, frame) : NOT_UTF8;
      if (call.kind === "rejected") {
        countRejected(read, call);
      } else if (call.kind === "suppressed") {
        read.suppressed += 1;
      } else {
        const bytesMore = recordBytes(call.record);
        read.records.push(call.record);
        if (call.isRepaired) read.repaired += 1;
        read.bytes += bytesMore;
        if (!grow(bytesMore)) return "too-much";
      }
    }
    return "more";
  };
  return { read, next };
}

export function countRejected({ rejected }: CallsRead, { reason, error }: Rejected): void {
  const counted = rejected.get(reason);
  if (counted === undefined) rejected.set(reason, { count: 1, error });
  else counted.count += 1;
}

function recordBytes({ key, value }: OutgoingRecord): number {
  return (key?.length ?? 0) + (value?.length ?? 0) + RECORD_OVERHEAD_BYTES;
}

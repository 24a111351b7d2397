/**
 * Writes a checked call as the JSON that is sent, and enforces the size limit of one call.
 *
 *   call                                               encode
 *   at most 32 KB of UTF-8                             its JSON and size
 *   more than that                                     ValidationError, naming the largest field
 *   cannot be written (a cycle, a bigint, a toJSON     ValidationError, naming the field
 *     that throws, nested too deep for the stack)
 *   nests deeper than 1,000 levels                     ValidationError, naming the field; the
 *                                                      server would reject the call
 *
 * Calls are encoded when they are made, so that the caller may change its objects afterwards. Sizes are measured in the
 * bytes that are sent. A batch has as many calls, in order, as `flushAt` and `BATCH_MAX_BYTES` allow.
 */

import { nestsDeeperThan } from "../../domain/json.ts";
import { type Loss, ValidationError } from "./client-error.ts";
import type { CheckedCall } from "./validate.ts";

/** The limit for the call's JSON as it is sent: 32 KB. */
export const CALL_MAX_BYTES = 32 * 1_024;
const DEPTH_MAX = 1_000;

export interface EncodedCall {
  readonly json: string;
  /** Size of the JSON in UTF-8. */
  readonly bytes: number;
  /** Null if the call was acknowledged, undefined while the call waits. */
  loss?: Loss | null | undefined;
}

const encoder = new TextEncoder();
/**
 * This array is never read. It is needed for `encodeInto`, which is the fastest way to count bytes on every platform.
 */
const scratch = new Uint8Array(CALL_MAX_BYTES);

/** @throws ValidationError in the cases that the table lists. */
export function encode(call: CheckedCall): EncodedCall {
  const json = stringify(call);
  const { read, written } = encoder.encodeInto(json, scratch);
  if (read < json.length) throw tooLarge(call, json);
  // Every level takes at least two characters, so the depth of a short call need not be checked.
  if (json.length > 2 * DEPTH_MAX) rejectDeep(call);
  return { json, bytes: written, loss: undefined };
}

function stringify(call: CheckedCall): string {
  try {
    return JSON.stringify(call);
  } catch (cause) {
    const field = Object.keys(call).find((name) => !isWritable(call[name])) ?? "call";
    const message = `${call.type}: ${field} cannot be written as JSON (a cycle, a bigint, or nested too deeply)`;
    throw new ValidationError(field, message, { cause });
  }
}

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function tooLarge(call: CheckedCall, json: string): ValidationError {
  let largest = "call";
  let largestBytes = 0;
  for (const [field, value] of Object.entries(call)) {
    const bytes = value === undefined ? 0 : byteLength(JSON.stringify(value));
    if (bytes <= largestBytes) continue;
    largest = field;
    largestBytes = bytes;
  }
  const sizes = `${byteLength(json)} bytes of JSON, ${largestBytes} of them in ${largest}`;
  return new ValidationError(
    largest,
    `${call.type}: the call is ${sizes}; the limit is ${CALL_MAX_BYTES} bytes`,
  );
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

function rejectDeep(call: CheckedCall): void {
  for (const [field, value] of Object.entries(call)) {
    if (!nestsDeeperThan(DEPTH_MAX, value)) continue;
    const message = `${call.type}: ${field} nests deeper than ${DEPTH_MAX} levels`;
    throw new ValidationError(field, message);
  }
}

/** The limit for a request's body, with envelope, calls and commas: 500 KB. */
export const BATCH_MAX_BYTES = 500 * 1_024;

/** The number of bytes around the calls. It is constant, because `sentAt` always has 24 characters. */
const ENVELOPE_BYTES = batchBody([], 0).length;

/** @param sentAtMs milliseconds since the epoch, before the year 10000. */
export function batchBody(calls: readonly EncodedCall[], sentAtMs: number): string {
  const sentAt = new Date(sentAtMs).toISOString();
  return `{"batch":[${calls.map(({ json }) => json).join(",")}],"sentAt":"${sentAt}"}`;
}

/** Returns the size of `batchBody` in UTF-8, for `count` calls with a total of `callsBytes` bytes. */
export function batchBytes(callsBytes: number, count: number): number {
  return ENVELOPE_BYTES + callsBytes + Math.max(0, count - 1);
}

/** Returns the calls from the start of `waiting` that fit into one request; at least one. */
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

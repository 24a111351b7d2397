/**
 * Turns one call of a body into the record that is written for it.
 *
 *   the call                                       result
 *   exceeds 32 KB as it was sent                   rejected: too-large
 *   is nested too deeply                           rejected: invalid-call
 *   breaks a rule of docs/calls.md#fields          rejected: invalid-call
 *   is for a suppressed user                       suppressed: accepted, but not written
 *   anything else                                  a record
 *
 * The record's value is the call's JSON as it was sent, byte for byte, except for the following members:
 *
 *   writeKey                 removed
 *   receivedAt               set
 *   sentAt                   the batch's `sentAt`, if it has one that can be read
 *   messageId                created if the call has no valid one
 *   timestamp                corrected if the device's clock is wrong; then
 *   originalTimestamp          `originalTimestamp` is also set
 *   context, integrations    merged, if the batch has something to add
 *   type                     the path's type, on paths for single calls
 *
 * Values that are not JSON are repaired first (`scan-scalar.ts`): `NaN` becomes null.
 */

import { type CallType, callKey } from "../../domain/call.ts";
import { isEmptyList, isJsonObject, JSON_DEPTH_MAX, type JsonObject } from "../../domain/json.ts";
import { parseCall } from "../../domain/parse-call.ts";
import { type OutgoingRecord, type RecordHeaders, recordFor } from "../../domain/record.ts";
import { endOfValue, nameAt, scanObject } from "../../domain/scan-json.ts";
import { repaired } from "../../domain/scan-scalar.ts";
import { isoTimestamp, isWritable, readTimestamp } from "../../domain/timestamp.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import { CALL_MAX_BYTES } from "./read-body.ts";
import { type SentCall, scanCall } from "./scan-call.ts";

export type RejectedReason = "invalid-call" | "too-large";

export type ReadCall =
  | {
      readonly kind: "record";
      readonly record: OutgoingRecord;
      /** `true` if the call contained values that were not JSON and have been repaired. */
      readonly isRepaired: boolean;
    }
  | { readonly kind: "suppressed" }
  | {
      readonly kind: "rejected";
      readonly reason: RejectedReason;
      /** One sentence that does not quote the call. */
      readonly error: string;
    };

interface Common {
  readonly topic: string;
  /** ISO 8601. */
  readonly receivedAt: string;
  /** If `true`, timestamps from devices with a wrong clock are corrected. */
  readonly correctsClock: boolean;
  /** Headers that every record gets. They name the source. */
  readonly sharedHeaders: RecordHeaders;
  readonly newMessageId: () => string;
  /** Absent if nobody is suppressed. */
  readonly suppressions?: KnownSuppressions | undefined;
}

/** The values that are the same for all calls of a body. */
export interface CallFrame extends Common {
  /** The correction that follows from the batch's `sentAt`; null if each call's own `sentAt` is used. */
  readonly clockOffsetMs: number | null;
  /** The type of calls that the path accepts; null if each call has to state its type. */
  readonly type: CallType | null;
  /** Members that replace members with the same names in each call. */
  readonly set: JsonObject;
  /** The JSON of `set`, to be appended to an object whose last brace has been removed. */
  readonly ending: Buffer;
  /** The `context` that the batch adds to its calls; null if it adds none. */
  readonly context: JsonObject | null;
  readonly integrations: JsonObject | null;
  /** If `true`, the batch adds `context` or `integrations`. */
  readonly isMerged: boolean;
}

/** @param envelope the members outside the calls. */
export function batchFrame(common: Common, envelope: JsonObject): CallFrame {
  const { receivedAt } = common;
  const { sentAt } = envelope;
  const set = isTimestamp(sentAt) ? { receivedAt, sentAt } : { receivedAt };
  const flags = isJsonObject(envelope.integrations) ? envelope.integrations : envelope.Integrations;
  const context = mergeable(envelope.context);
  const integrations = mergeable(flags);
  return {
    ...common,
    type: null,
    clockOffsetMs: Object.hasOwn(set, "sentAt") ? clockOffset(common, sentAt) : null,
    set,
    ending: endingOf(set),
    context,
    integrations,
    isMerged: context !== null || integrations !== null,
  };
}

export function singleFrame(common: Common, type: CallType): CallFrame {
  const set = { type, receivedAt: common.receivedAt };
  const nothing = { clockOffsetMs: null, context: null, integrations: null, isMerged: false };
  return { ...common, type, set, ending: endingOf(set), ...nothing };
}

function clockOffset({ correctsClock, receivedAt }: Common, sentAt: unknown): number {
  return correctsClock ? clockOffsetMs(sentAt, readTimestamp(receivedAt) ?? 0) : 0;
}

function endingOf(set: JsonObject): Buffer {
  return Buffer.from(`,${JSON.stringify(set).slice(1)}`);
}

/**
 * The batch's `sentAt` is copied into each call, so it must be short. If it cannot be read, it does not replace the
 * call's own `sentAt`.
 */
function isTimestamp(sentAt: unknown): boolean {
  const isShort = typeof sentAt !== "string" || sentAt.length <= 100;
  return isShort && readTimestamp(sentAt) !== null;
}

const SUPPRESSED: ReadCall = { kind: "suppressed" };
const NO_HEADERS: RecordHeaders = [];
/** The depth has already been checked, so `parseCall` does not have to check it. */
const NOT_DEEP_BYTES = 0;
const TOO_LARGE = `the call is more than ${CALL_MAX_BYTES / 1_024} KB of JSON`;

export function readCall(bytes: Buffer, sent: SentCall, frame: CallFrame): ReadCall {
  if (sent.end - sent.start > CALL_MAX_BYTES) return rejected("too-large", TOO_LARGE);
  return sent.isBroken ? readRepaired(bytes, sent, frame) : readWhole(bytes, sent, frame);
}

/** The limit applies to the call as it was sent, because repairs make the call slightly longer. */
function readRepaired(bytes: Buffer, { start, end }: SentCall, frame: CallFrame): ReadCall {
  const text = Buffer.from(repaired(bytes.toString("utf8", start, end)));
  const sent = scanCall(text, 0);
  if (sent === null || sent.isBroken) return rejected("invalid-call", "the call is not JSON");
  const read = readWhole(text, sent, frame);
  return read.kind === "record" ? { ...read, isRepaired: true } : read;
}

function readWhole(bytes: Buffer, sent: SentCall, frame: CallFrame): ReadCall {
  // The call itself counts as a level.
  if (sent.depth > JSON_DEPTH_MAX + 1) {
    return rejected("invalid-call", `the call nests more than ${JSON_DEPTH_MAX} levels deep`);
  }
  const { type } = frame;
  const fields = type === null ? sent.fields : { ...(sent.fields as JsonObject), type };
  const read = parseCall(fields, NOT_DEEP_BYTES);
  if (read.kind === "refused") return rejected(read.reason, read.error);
  if (frame.suppressions?.matches(read.call) === true) return SUPPRESSED;
  const needsId = read.call.messageId === null;
  const offsetMs = frame.clockOffsetMs ?? clockOffset(frame, read.call.sentAt);
  const isChanged = needsId || offsetMs !== 0 || frame.isMerged;
  const isPassedOn = !(isChanged || replaces(sent.fields as JsonObject, frame));
  const key = Buffer.from(callKey(read.call));
  const value = isPassedOn
    ? withEnding(bytes, sent, frame.ending)
    : rewritten(bytes, sent, needsId, offsetMs, frame);
  const record = recordFor(frame.topic, key, value, NO_HEADERS, frame.sharedHeaders);
  return { kind: "record", record, isRepaired: false };
}

function rejected(reason: RejectedReason, error: string): ReadCall {
  return { kind: "rejected", reason, error };
}

/** Returns true if the call has members that must be removed. */
function replaces(fields: JsonObject, { set }: CallFrame): boolean {
  if (Object.hasOwn(fields, "writeKey")) return true;
  for (const name in set) if (Object.hasOwn(fields, name)) return true;
  return false;
}

/** Handles the usual case: an object that has members, none of which has to be replaced. */
function withEnding(bytes: Buffer, { start, end }: SentCall, ending: Buffer): Buffer {
  const size = end - 1 - start;
  const value = Buffer.allocUnsafe(size + ending.length);
  value.set(bytes.subarray(start, end - 1), 0);
  value.set(ending, size);
  return value;
}

/** The call with some members replaced or removed, and with new members at its end. */
function rewritten(
  bytes: Buffer,
  sent: SentCall,
  needsId: boolean,
  offsetMs: number,
  frame: CallFrame,
): Buffer {
  const own = JSON.parse(bytes.toString("utf8", sent.start, sent.end)) as JsonObject;
  const changed: Record<string, unknown> = { writeKey: undefined };
  if (needsId) changed.messageId = frame.newMessageId();
  if (frame.context !== null) changed.context = merge(frame.context, own.context);
  if (frame.integrations !== null) {
    // Segment's Go library writes `Integrations`. The route stage ignores this member if `integrations` is also
    // present.
    const isThere = Object.hasOwn(own, "integrations") && !isEmptyList(own.integrations);
    const flags = isThere ? own.integrations : own.Integrations;
    changed.integrations = merge(frame.integrations, flags);
  }
  const set = { ...changed, ...correctedTimes(own, offsetMs), ...frame.set };
  const parts: string[] = [];
  scanObject(bytes, sent.start, (nameStart, nameEnd, at) => {
    const end = endOfValue(bytes, at);
    if (!Object.hasOwn(set, nameAt(bytes, nameStart, nameEnd))) {
      parts.push(bytes.toString("utf8", nameStart, end));
    }
    return end;
  });
  parts.push(JSON.stringify(set).slice(1, -1));
  return Buffer.from(`{${parts.join(",")}}`);
}

/**
 * Merges the `context` and `integrations` of a batch with those of one of its calls.
 *
 *   in the batch     in the call       result
 *   an object        absent            the batch's
 *   an object        an empty list     the batch's, because PHP and Lua write a list for an empty map
 *   an object        an object         both, merged member by member by this table
 *   anything else    absent            nothing at the top level; the batch's below it
 *   anything         anything else     the call's, including lists and null
 *
 * The merged value is nested as deeply as the deeper of the two values.
 */
export function merge(ofBatch: unknown, ofCall: unknown): unknown {
  if (ofCall === undefined) return ofBatch;
  if (!isJsonObject(ofBatch)) return ofCall;
  if (!isJsonObject(ofCall)) return isEmptyList(ofCall) ? ofBatch : ofCall;
  // Object spread and `defineProperty` create own properties for all names, even for `__proto__`.
  const merged: Record<string, unknown> = { ...ofBatch };
  for (const [name, value] of Object.entries(ofCall)) {
    const inherited = Object.hasOwn(ofBatch, name) ? ofBatch[name] : undefined;
    Object.defineProperty(merged, name, {
      value: merge(inherited, value),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return merged;
}

/** The members that a batch adds to each of its calls; null if it adds none. */
export function mergeable(ofBatch: unknown): JsonObject | null {
  return isJsonObject(ofBatch) && Object.keys(ofBatch).length > 0 ? ofBatch : null;
}

/**
 * Corrects the timestamp of a call if the clock of its device is wrong (docs/http-apis.md#the-devices-clock).
 *
 *   sentAt                                        the call's timestamp
 *   is absent or cannot be read                   stays as it was sent
 *   is at most 30 s from the time of receipt      stays as it was sent
 *   is more than 30 s from it, in either direction moves by that difference:
 *                                                 receivedAt - (sentAt - timestamp)
 *
 * A timestamp stays unchanged if it is absent, cannot be read, or would move outside the years 0 to 9999. If a
 * timestamp was moved, `originalTimestamp` is set to the device's time, as Segment does, unless the call already has
 * an `originalTimestamp` that can be read.
 */

/** Requests take less time than this, and clocks that are set over a network differ by less than this. */
const TOLERANCE_MS = 30_000;

/**
 * The number of milliseconds to add to times from the device; 0 if the device's clock is correct, or if its error is
 * unknown.
 */
function clockOffsetMs(sentAt: unknown, receivedAtMs: number): number {
  const sentAtMs = readTimestamp(sentAt);
  if (sentAtMs === null) return 0;
  const offsetMs = receivedAtMs - sentAtMs;
  return Math.abs(offsetMs) > TOLERANCE_MS ? offsetMs : 0;
}

function correctedTimes(call: JsonObject, offsetMs: number): JsonObject {
  const timestampMs = readTimestamp(call.timestamp);
  if (offsetMs === 0 || timestampMs === null) return UNCHANGED;
  const correctedMs = timestampMs + offsetMs;
  if (!isWritable(correctedMs)) return UNCHANGED;
  const isKept = readTimestamp(call.originalTimestamp) !== null;
  const originalTimestamp = isKept ? call.originalTimestamp : call.timestamp;
  return { timestamp: isoTimestamp(correctedMs), originalTimestamp };
}

const UNCHANGED: JsonObject = {};

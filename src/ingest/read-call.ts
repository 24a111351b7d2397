/**
 * One call of a body to the record that is written for it.
 *
 *   the call                                       result
 *   over 32 KB as it was sent                      left out: too-large
 *   nests too deep                                 left out: invalid-call
 *   no JSON                                        the body is none
 *   breaks a rule of SPEC section 3                left out: invalid-call
 *   anything else                                  a record
 *
 * The record's value is the call's JSON as it was sent, byte for byte, but for these members:
 *
 *   writeKey                 taken out
 *   receivedAt               set
 *   sentAt                   the batch's, where it has one
 *   messageId                made where the call has none that can be used
 *   context, integrations    merged, where the batch has something to add
 *   type                     the path's, on the paths of single calls
 */

import { type CallType, callKey } from "../domain/call.ts";
import { isJsonObject, JSON_DEPTH_MAX, type JsonObject } from "../domain/json.ts";
import { parseCall } from "../domain/parse-call.ts";
import type { OutgoingRecord, RecordHeaders } from "../domain/record.ts";
import { merge, mergeable } from "./merge.ts";
import { CALL_BYTES_MAX } from "./read-body.ts";
import { type Extent, parsed, scanObject, textOf } from "./scan-json.ts";

export type LeftOutReason = "invalid-call" | "too-large";

export type ReadCall =
  | { readonly kind: "record"; readonly record: OutgoingRecord }
  | {
      readonly kind: "left-out";
      readonly reason: LeftOutReason;
      /** One sentence, without any of the call. */
      readonly error: string;
    }
  | { readonly kind: "not-json" };

interface Common {
  readonly topic: string;
  /** Of every record: the source. */
  readonly sharedHeaders: RecordHeaders;
  readonly newMessageId: () => string;
}

/** What the calls of a body have in common. */
export interface CallFrame extends Common {
  /** Of a call on a path of its own; null: the call says it. */
  readonly type: CallType | null;
  /** Members that each call gets in place of its own. */
  readonly set: JsonObject;
  /** `set` as the end of an object with other members before it. */
  readonly ending: Buffer;
  /** What the batch has to add; null: nothing. */
  readonly context: JsonObject | null;
  readonly integrations: JsonObject | null;
}

/** @param envelope what stands beside the calls. */
export function batchFrame(
  common: Common & { readonly receivedAt: string },
  envelope: JsonObject,
): CallFrame {
  const { receivedAt, ...rest } = common;
  const { sentAt } = envelope;
  const set = isTimestamp(sentAt) ? { receivedAt, sentAt } : { receivedAt };
  const flags = isJsonObject(envelope.integrations) ? envelope.integrations : envelope.Integrations;
  const context = mergeable(envelope.context);
  return {
    ...rest,
    type: null,
    set,
    ending: endingOf(set),
    context,
    integrations: mergeable(flags),
  };
}

export function singleFrame(
  common: Common & { readonly receivedAt: string },
  type: CallType,
): CallFrame {
  const { receivedAt, ...rest } = common;
  const set = { type, receivedAt };
  return { ...rest, type, set, ending: endingOf(set), context: null, integrations: null };
}

function endingOf(set: JsonObject): Buffer {
  return Buffer.from(`,${JSON.stringify(set).slice(1)}`);
}

/** Copied into each call, so it must be short; what is none would be ignored anyway. */
function isTimestamp(sentAt: unknown): boolean {
  return typeof sentAt === "number" || (typeof sentAt === "string" && sentAt.length <= 100);
}

const NO_HEADERS: RecordHeaders = [];
const TOO_LARGE = `the call is more than ${CALL_BYTES_MAX / 1_024} KB of JSON`;

export function readCall(bytes: Buffer, at: Extent, frame: CallFrame): ReadCall {
  const sizeBytes = at.end - at.start;
  if (sizeBytes > CALL_BYTES_MAX) return leftOut("too-large", TOO_LARGE);
  // The call itself is a level too.
  if (at.depth > JSON_DEPTH_MAX + 1) {
    return leftOut("invalid-call", `the call nests more than ${JSON_DEPTH_MAX} levels deep`);
  }
  const sent = parsed(textOf(bytes, at.start, at.end));
  if (sent === undefined) return { kind: "not-json" };
  const json = frame.type === null ? sent : { ...(sent as JsonObject), type: frame.type };
  const read = parseCall(json, sizeBytes);
  if (read.kind === "refused") return leftOut(read.reason, read.error);
  const own = sent as JsonObject;
  const changed = changes(own, read.call.messageId === null, frame);
  const value =
    changed === null
      ? withEnding(bytes, at, frame.ending)
      : withMembers(bytes, at, { ...changed, ...frame.set });
  const record = {
    topic: frame.topic,
    key: Buffer.from(callKey(read.call)),
    value,
    headers: NO_HEADERS,
    sharedHeaders: frame.sharedHeaders,
  };
  return { kind: "record", record };
}

function leftOut(reason: LeftOutReason, error: string): ReadCall {
  return { kind: "left-out", reason, error };
}

/** Members to set beside `frame.set`, undefined for those to take out; null: nothing but to add. */
function changes(own: JsonObject, needsId: boolean, frame: CallFrame): JsonObject | null {
  const changed: Record<string, unknown> = {};
  if (Object.hasOwn(own, "writeKey")) changed.writeKey = undefined;
  if (needsId) changed.messageId = frame.newMessageId();
  if (frame.context !== null) changed.context = merge(frame.context, own.context);
  if (frame.integrations !== null) {
    // As the Go struct spells it; the plain spelling would hide it from route.
    const flags = Object.hasOwn(own, "integrations") ? own.integrations : own.Integrations;
    changed.integrations = merge(frame.integrations, flags);
  }
  for (const name of Object.keys(frame.set)) if (Object.hasOwn(own, name)) return changed;
  return Object.keys(changed).length === 0 ? null : changed;
}

/** The usual case: an object with members, none of which is in the way. */
function withEnding(bytes: Buffer, { start, end }: Extent, ending: Buffer): Buffer {
  const size = end - 1 - start;
  const value = Buffer.allocUnsafe(size + ending.length);
  value.set(bytes.subarray(start, end - 1), 0);
  value.set(ending, size);
  return value;
}

/** The object without the members that are named in `set`, and with them behind the others. */
function withMembers(bytes: Buffer, { start }: Extent, set: JsonObject): Buffer {
  const parts: string[] = [];
  scanObject(bytes, start, (member) => {
    if (Object.hasOwn(set, member.name)) return;
    parts.push(textOf(bytes, member.start, member.value.end));
  });
  const added = JSON.stringify(set).slice(1, -1);
  if (added !== "") parts.push(added);
  return Buffer.from(`{${parts.join(",")}}`);
}

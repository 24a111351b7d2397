/**
 * Finds the calls in a body, and parses the members that apply to all calls.
 *
 *   body                                            result
 *   is not JSON, or not an object                   rejected
 *   one call of a batch is not JSON, but its end    its position: only this call is rejected
 *     can be found, and another call is JSON
 *   is a single call                                one call, which is the body
 *   is a batch: `batch` is a list                   its entries, and the other members
 *   is a batch: `batch` is absent or not a list     rejected
 *   the other members exceed 32 KB                  rejected, without reading the rest
 *   one call of a batch is not UTF-8                its position: only this call is rejected
 *   anything else is not UTF-8                      rejected
 *   has more calls than a body may have             rejected, without reading the rest
 *
 * The body is scanned only once, and only the members outside the calls are parsed. A large body is scanned in
 * slices, so that other requests get a turn in between. If a name is repeated, the last value counts, as in
 * JSON.parse.
 */

import { isUtf8 } from "node:buffer";

import { JSON_DEPTH_MAX, type JsonObject } from "../../domain/json.ts";
import {
  beginsWith,
  endOf,
  endOfValue,
  firstEntry,
  firstMember,
  nameAt,
  nextEntry,
  nextMember,
  skipSpace,
  startOf,
} from "../../domain/scan-json.ts";
import { repaired } from "../../domain/scan-scalar.ts";
import { CallScan, type SentCall, TURN_BYTES, unreadableCall } from "./scan-call.ts";

/** The maximum size of a call's JSON as it was sent. A KB is 1,024 bytes. */
export const CALL_MAX_BYTES = 32 * 1_024;
/** The maximum size of all members outside `batch` together, because they are copied into each of the calls. */
export const ENVELOPE_MAX_BYTES = 32 * 1_024;

/** The maximum number of calls in one body, because even the smallest call has a cost. */
export const CALLS_MAX = 20_000;
const TOO_MANY: BadBody = {
  kind: "refused",
  code: "body-too-large",
  error: `batch has more than ${CALLS_MAX} calls`,
};
const TOO_MUCH_BESIDE: BadBody = {
  kind: "refused",
  code: "invalid-body",
  error: `the members outside batch take more than ${ENVELOPE_MAX_BYTES / 1_024} KB; move them into the calls that need them`,
};

export interface Outline {
  readonly kind: "outline";
  readonly calls: readonly SentCall[];
  /** False if some of the calls are not UTF-8. */
  readonly isUtf8: boolean;
  /** The members outside the calls; for a single call, only its `writeKey`. */
  readonly envelope: JsonObject;
}

export interface BadBody {
  readonly kind: "refused";
  readonly code: "invalid-json" | "invalid-body" | "body-too-large";
  readonly error: string;
}

export type ReadBody = Outline | BadBody;

/** Reads a body, and yields between slices. @param isBatch if `true`, the body contains a list of calls. */
export function* readBody(bytes: Buffer, isBatch: boolean): Generator<void, ReadBody> {
  const isText = isUtf8(bytes);
  if (!isText && !isBatch) return notUtf8();
  const start = startOf(bytes);
  if (!beginsWith(bytes, "object", start)) return isText ? noObject(bytes, start) : notUtf8();
  if (!isBatch) return yield* readSingle(bytes, start);
  const read: ReadBody = yield* readBatch(bytes, start, isText);
  return read.kind === "refused" && read.code === "invalid-json" && !isText ? notUtf8() : read;
}

export function readBodyAtOnce(bytes: Buffer, isBatch: boolean): ReadBody {
  const steps = readBody(bytes, isBatch);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Returns why a body will be rejected, if this can be seen from its first bytes; otherwise null. Stores nothing of
 * the calls.
 */
export function refusedEarly(bytes: Buffer, isBatch: boolean): BadBody | null {
  if (!isBatch) return null;
  const nesting = { deepest: 0, repairable: 0 };
  const start = startOf(bytes);
  if (!beginsWith(bytes, "object", start)) return null;
  const member = { nameEnd: 0, at: 0 };
  for (let at = firstMember(bytes, start, member); at >= 0; ) {
    if (nameAt(bytes, at, member.nameEnd) === "batch") return manyCalls(bytes, member.at);
    at = nextMember(bytes, endOfValue(bytes, member.at, nesting), member);
  }
  return null;
}

function manyCalls(bytes: Buffer, start: number): BadBody | null {
  if (!beginsWith(bytes, "list", start)) return null;
  const nesting = { deepest: 0, repairable: 0 };
  let calls = 0;
  for (let at = firstEntry(bytes, start); at >= 0; calls += 1) {
    if (calls === CALLS_MAX) return TOO_MANY;
    at = nextEntry(bytes, endOfValue(bytes, at, nesting));
  }
  return null;
}

function* readSingle(bytes: Buffer, start: number): Generator<void, ReadBody> {
  const scan = new CallScan(bytes, start);
  while (scan.next()) yield;
  const call = scan.call();
  if (call === null || !isWhole(bytes, call.end)) return notJson();
  const { writeKey } = call.fields as JsonObject;
  return { kind: "outline", calls: [call], isUtf8: true, envelope: { writeKey } };
}

function* readBatch(bytes: Buffer, start: number, isText: boolean): Generator<void, ReadBody> {
  let batch: Batch | null = null;
  const nesting = { deepest: 0, repairable: 0 };
  const member = { nameEnd: 0, at: 0 };
  const parts: Buffer[] = [];
  let partBegins = start;
  let batchBytes = 0;
  // The calls are found while the body is scanned for the first and only time.
  let at = firstMember(bytes, start, member);
  while (at >= 0) {
    let end: number;
    if (nameAt(bytes, at, member.nameEnd) === "batch") {
      const read: Batch | "too-many" = yield* scanBatch(bytes, member.at);
      if (read === "too-many") return TOO_MANY;
      batch = read;
      end = read.end;
      parts.push(bytes.subarray(partBegins, member.at));
      partBegins = end;
      batchBytes += end - member.at;
    } else {
      end = endOfValue(bytes, member.at, nesting);
    }
    if (end - start - batchBytes > ENVELOPE_MAX_BYTES) return TOO_MUCH_BESIDE;
    at = nextMember(bytes, end, member);
  }
  const end = endOf(at);
  if (!isWhole(bytes, end)) return notJson();
  parts.push(bytes.subarray(partBegins, end));
  const isBroken = nesting.repairable > 0;
  return outline({ parts, depth: nesting.deepest + 1, isBroken, isText }, batch);
}

interface Batch {
  readonly end: number;
  /** What `batch` is if it is not a list. */
  readonly calls: readonly SentCall[] | string;
}

function* scanBatch(bytes: Buffer, start: number): Generator<void, Batch | "too-many"> {
  if (!beginsWith(bytes, "list", start)) {
    const end = endOfValue(bytes, start, { deepest: 0, repairable: 0 });
    return { end, calls: kindAt(bytes, start) };
  }
  const calls: SentCall[] = [];
  let isReadable = false;
  let turnEndsAt = start + TURN_BYTES;
  let at = firstEntry(bytes, start);
  while (at >= 0) {
    if (calls.length === CALLS_MAX) return "too-many";
    const scan = new CallScan(bytes, at);
    while (scan.next()) yield;
    const read = scan.call();
    const call = read ?? unreadableCall(bytes, at);
    if (call !== null) calls.push(call);
    if (read !== null) isReadable = true;
    at = nextEntry(bytes, call?.end ?? -1);
    if (at > turnEndsAt) {
      yield;
      turnEndsAt = at + TURN_BYTES;
    }
  }
  // If none of the calls is valid JSON, the whole body is rejected, so that the client gets an error.
  return { end: isReadable || calls.length === 0 ? endOf(at) : -1, calls };
}

/** The parts of the body outside `batch`. */
interface Beside extends Pick<SentCall, "depth" | "isBroken"> {
  /** The bytes before, between and behind the values of `batch`, which may be repeated. */
  readonly parts: readonly Buffer[];
  /** False if any part of the body is not UTF-8. */
  readonly isText: boolean;
}

function outline(body: Beside, batch: Batch | null): ReadBody {
  if (batch === null)
    return refused("invalid-body", "the body has no field batch, expected a list");
  if (body.depth > JSON_DEPTH_MAX) {
    const error = `the members outside batch nest more than ${JSON_DEPTH_MAX} levels deep`;
    return refused("invalid-body", error);
  }
  const { calls } = batch;
  if (typeof calls === "string") {
    return refused("invalid-body", `batch is ${calls}, expected a list of calls`);
  }
  const { parts, isText, isBroken } = body;
  if (!isText && !parts.every(isUtf8)) return notUtf8();
  // Each value of `batch` becomes null: an earlier one may contain calls that are not JSON.
  const beside = parts.join("null");
  const envelope = JSON.parse(isBroken ? repaired(beside) : beside) as JsonObject;
  return { kind: "outline", calls, isUtf8: isText, envelope };
}

/** @param end the end of the part that was scanned; negative if that part was malformed. */
function isWhole(bytes: Buffer, end: number): boolean {
  return end >= 0 && skipSpace(bytes, end) >= bytes.length;
}

function noObject(bytes: Buffer, start: number): BadBody {
  const end = endOfValue(bytes, start);
  if (!isWhole(bytes, end)) return notJson();
  return refused("invalid-body", `the body is ${kindAt(bytes, start)}, expected an object`);
}

function notUtf8(): BadBody {
  return refused("invalid-json", "the body is not UTF-8");
}

function notJson(): BadBody {
  return refused("invalid-json", "the body is not JSON");
}

/** The kind of a value that is not examined further, and that may have to be repaired. */
function kindAt(bytes: Buffer, start: number): string {
  return KINDS[String.fromCharCode(bytes[start] ?? 0)] ?? "a number";
}

const KINDS: Readonly<Record<string, string>> = {
  "{": "an object",
  "[": "a list",
  '"': "a string",
  t: "true",
  f: "false",
  n: "null",
};

function refused(code: BadBody["code"], error: string): BadBody {
  return { kind: "refused", code, error };
}

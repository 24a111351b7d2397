/**
 * A body's outline: where its calls stand, and what it says about all of them.
 *
 *   body                                            result
 *   no JSON; no object                              refused
 *   of one call                                     one call, which is the body
 *   of many: `batch` is a list                      its entries, and what stands beside them
 *   of many: `batch` is absent or something else    refused
 *   what stands beside `batch` is over 32 KB        refused
 *
 * All of it is looked at, in one pass; only what stands beside the calls is parsed.
 * Of a repeated name the last one counts, as in JSON.parse.
 */

import { JSON_DEPTH_MAX, type JsonObject, kindOf } from "../domain/json.ts";
import { nameAt, type SentCall, scanCall, textOf } from "./scan-call.ts";
import { beginsWith, endOfValue, scanList, scanObject, skipSpace } from "./scan-json.ts";

/** KB are 1,024 bytes. Of a call's JSON as it was sent. */
export const CALL_BYTES_MAX = 32 * 1_024;
/** Of all that stands beside `batch`; it goes into each of the calls. */
export const ENVELOPE_BYTES_MAX = 32 * 1_024;

/** Of one body; each costs something, however small it is. */
export const CALLS_MAX = 100_000;

export interface Outline {
  readonly kind: "outline";
  readonly calls: readonly SentCall[];
  /** What stands beside the calls; of a single call only its `writeKey`. */
  readonly envelope: JsonObject;
}

export interface BadBody {
  readonly kind: "refused";
  readonly code: "invalid-json" | "invalid-body" | "body-too-large";
  readonly error: string;
}

export type ReadBody = Outline | BadBody;

/** @param isBatch whether the body holds many calls. */
export function readBody(bytes: Buffer, isBatch: boolean): ReadBody {
  const start = skipSpace(bytes, 0);
  if (!beginsWith(bytes, "object", start)) return noObject(bytes, start);
  return isBatch ? readBatch(bytes, start) : readSingle(bytes, start);
}

function readSingle(bytes: Buffer, start: number): ReadBody {
  const call = scanCall(bytes, start);
  if (call === null || !isWhole(bytes, call.end)) return notJson();
  const { writeKey } = call.fields as JsonObject;
  return { kind: "outline", calls: [call], envelope: { writeKey } };
}

function readBatch(bytes: Buffer, start: number): ReadBody {
  let batch: Batch | null = null;
  const nesting = { deepest: 0 };
  // The calls are found while the body is gone through, so that it is gone through once.
  const end = scanObject(bytes, start, (nameStart, nameEnd, at) => {
    if (nameAt(bytes, nameStart, nameEnd) !== "batch") return endOfValue(bytes, at, nesting);
    batch = scanBatch(bytes, at);
    return batch.end;
  });
  if (!isWhole(bytes, end)) return notJson();
  return outline(bytes, { start, end, depth: nesting.deepest + 1 }, batch);
}

interface Batch {
  readonly start: number;
  readonly end: number;
  /** Null: it is no list. */
  readonly calls: readonly SentCall[] | null;
}

function scanBatch(bytes: Buffer, start: number): Batch {
  if (!beginsWith(bytes, "list", start)) {
    return { start, end: endOfValue(bytes, start, { deepest: 0 }), calls: null };
  }
  const calls: SentCall[] = [];
  const end = scanList(bytes, start, (at) => {
    const call = scanCall(bytes, at);
    if (call !== null && calls.length <= CALLS_MAX) calls.push(call);
    return call?.end ?? -1;
  });
  return { start, end, calls };
}

function outline(
  bytes: Buffer,
  body: { readonly start: number; readonly end: number; readonly depth: number },
  batch: Batch | null,
): ReadBody {
  if (batch === null) return refused("invalid-body", "the body has no batch, expected a list");
  if (body.end - body.start - (batch.end - batch.start) > ENVELOPE_BYTES_MAX) {
    const error = `what stands beside batch is more than ${ENVELOPE_BYTES_MAX / 1_024} KB; put it into the calls that need it`;
    return refused("invalid-body", error);
  }
  if (body.depth > JSON_DEPTH_MAX) {
    const error = `the body nests more than ${JSON_DEPTH_MAX} levels deep beside batch`;
    return refused("invalid-body", error);
  }
  const { calls } = batch;
  if (calls === null) {
    const kind = kindAt(bytes, batch.start, batch.end);
    return refused("invalid-body", `batch is ${kind}, expected a list of calls`);
  }
  if (calls.length > CALLS_MAX) {
    return refused("body-too-large", `batch has more than ${CALLS_MAX} calls`);
  }
  const before = textOf(bytes, body.start, batch.start);
  const envelope = JSON.parse(`${before}null${textOf(bytes, batch.end, body.end)}`) as JsonObject;
  return { kind: "outline", calls, envelope };
}

/** @param end of what was gone through; negative: it was malformed. */
function isWhole(bytes: Buffer, end: number): boolean {
  return end >= 0 && skipSpace(bytes, end) >= bytes.length;
}

function noObject(bytes: Buffer, start: number): BadBody {
  const end = endOfValue(bytes, start, { deepest: 0 });
  if (!isWhole(bytes, end)) return notJson();
  return refused("invalid-body", `the body is ${kindAt(bytes, start, end)}, expected an object`);
}

function notJson(): BadBody {
  return refused("invalid-json", "the body is not JSON");
}

/** What a value is that should not be there. Lists and objects are not looked into. */
function kindAt(bytes: Buffer, start: number, end: number): string {
  if (beginsWith(bytes, "object", start)) return "an object";
  if (beginsWith(bytes, "list", start)) return "a list";
  return kindOf(JSON.parse(textOf(bytes, start, end)));
}

function refused(code: BadBody["code"], error: string): BadBody {
  return { kind: "refused", code, error };
}

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
 * Only what stands beside the calls is parsed here. A broken call shows when it is read.
 * Of a repeated name the last one counts, as in JSON.parse.
 */

import { isJsonObject, JSON_DEPTH_MAX, type JsonObject, kindOf } from "../domain/json.ts";
import {
  beginsWith,
  type Extent,
  membersOf,
  parsed,
  skipSpace,
  textOf,
  valueAt,
} from "./scan-json.ts";

/** KB are 1,024 bytes. Of a call's JSON as it was sent. */
export const CALL_BYTES_MAX = 32 * 1_024;
/** Of all that stands beside `batch`; it goes into each of the calls. */
export const ENVELOPE_BYTES_MAX = 32 * 1_024;
const KEY_BYTES_MAX = 2_000;

export interface Outline {
  readonly kind: "outline";
  /** The one call, or the list of them. */
  readonly calls: Extent;
  /** What stands beside the calls; of a single call only its `writeKey`. */
  readonly envelope: JsonObject;
}

export interface BadBody {
  readonly kind: "refused";
  readonly code: "invalid-json" | "invalid-body";
  readonly error: string;
}

export type ReadBody = Outline | BadBody;

const NOT_JSON = "the body is not JSON";

/** @param isBatch whether the body holds many calls. */
export function readBody(bytes: Buffer, isBatch: boolean): ReadBody {
  const start = skipSpace(bytes, 0);
  const body = valueAt(bytes, start);
  if (body === null || skipSpace(bytes, body.end) < bytes.length) {
    return refused("invalid-json", NOT_JSON);
  }
  if (!beginsWith(bytes, "object", start)) return noObject(bytes, body);
  return isBatch ? readBatch(bytes, body) : readSingle(bytes, body);
}

function readSingle(bytes: Buffer, body: Extent): ReadBody {
  let writeKey: unknown;
  for (const member of membersOf(bytes, body.start)) {
    if (member === null) return refused("invalid-json", NOT_JSON);
    const { start, end } = member.value;
    if (member.name !== "writeKey") continue;
    writeKey = end - start > KEY_BYTES_MAX ? null : parsed(textOf(bytes, start, end));
  }
  return { kind: "outline", calls: body, envelope: { writeKey } };
}

function readBatch(bytes: Buffer, body: Extent): ReadBody {
  let calls: Extent | null = null;
  let depth = 0;
  for (const member of membersOf(bytes, body.start)) {
    if (member === null) return refused("invalid-json", NOT_JSON);
    if (member.name === "batch") calls = member.value;
    else depth = Math.max(depth, member.value.depth);
  }
  if (calls === null)
    return refused("invalid-body", "the body has no batch, expected a list of calls");
  if (body.end - body.start - (calls.end - calls.start) > ENVELOPE_BYTES_MAX) {
    const error = `what stands beside batch is more than ${ENVELOPE_BYTES_MAX / 1_024} KB; put it into the calls that need it`;
    return refused("invalid-body", error);
  }
  if (depth > JSON_DEPTH_MAX) {
    const error = `the body nests more than ${JSON_DEPTH_MAX} levels deep beside batch`;
    return refused("invalid-body", error);
  }
  const before = textOf(bytes, body.start, calls.start);
  const envelope = parsed(`${before}null${textOf(bytes, calls.end, body.end)}`);
  if (!isJsonObject(envelope)) return refused("invalid-json", NOT_JSON);
  if (beginsWith(bytes, "list", calls.start)) return { kind: "outline", calls, envelope };
  return noList(bytes, calls);
}

function noObject(bytes: Buffer, body: Extent): BadBody {
  const error = kindAt(bytes, body);
  if (error === null) return refused("invalid-json", NOT_JSON);
  return refused("invalid-body", `the body is ${error}, expected an object`);
}

function noList(bytes: Buffer, calls: Extent): BadBody {
  const error = kindAt(bytes, calls);
  if (error === null) return refused("invalid-json", NOT_JSON);
  return refused("invalid-body", `batch is ${error}, expected a list of calls`);
}

/** What a value is that should not be there; null: no JSON. Lists and objects are not looked into. */
function kindAt(bytes: Buffer, value: Extent): string | null {
  if (value.depth > 0) return beginsWith(bytes, "object", value.start) ? "an object" : "a list";
  const json = parsed(textOf(bytes, value.start, value.end));
  return json === undefined ? null : kindOf(json);
}

function refused(code: BadBody["code"], error: string): BadBody {
  return { kind: "refused", code, error };
}

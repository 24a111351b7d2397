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
  parsed,
  scanList,
  scanObject,
  skipSpace,
  textOf,
  valueAt,
} from "./scan-json.ts";

/** KB are 1,024 bytes. Of a call's JSON as it was sent. */
export const CALL_BYTES_MAX = 32 * 1_024;
/** Of all that stands beside `batch`; it goes into each of the calls. */
export const ENVELOPE_BYTES_MAX = 32 * 1_024;
const KEY_BYTES_MAX = 2_000;

/** Of one body; each costs something, however small it is. */
export const CALLS_MAX = 100_000;

export interface Outline {
  readonly kind: "outline";
  readonly calls: readonly Extent[];
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
  let writeKey: unknown;
  let depth = 0;
  const end = scanObject(bytes, start, ({ name, value }) => {
    depth = Math.max(depth, value.depth);
    if (name !== "writeKey") return;
    const isLong = value.end - value.start > KEY_BYTES_MAX;
    writeKey = isLong ? null : parsed(textOf(bytes, value.start, value.end));
  });
  if (!isWhole(bytes, end)) return notJson();
  return { kind: "outline", calls: [{ start, end, depth: depth + 1 }], envelope: { writeKey } };
}

function readBatch(bytes: Buffer, start: number): ReadBody {
  let batch: Extent | null = null;
  let entries: Extent[] | null = null;
  let depth = 0;
  // The calls are found while the body is gone through, so that it is gone through once.
  const batchAt = (at: number) => {
    entries = null;
    if (!beginsWith(bytes, "list", at)) return valueAt(bytes, at);
    const found: Extent[] = [];
    entries = found;
    const end = scanList(bytes, at, (entry) => {
      if (found.length <= CALLS_MAX) found.push(entry);
    });
    return end < 0 ? null : { start: at, end, depth: 0 };
  };
  const end = scanObject(
    bytes,
    start,
    ({ name, value }) => {
      if (name === "batch") batch = value;
      else depth = Math.max(depth, value.depth);
    },
    (at, name) => (name === "batch" ? batchAt(at) : valueAt(bytes, at)),
  );
  if (!isWhole(bytes, end)) return notJson();
  return outline(bytes, { start, end, depth: depth + 1 }, batch, entries);
}

/** @param entries of `batch`; null: it is no list. */
function outline(
  bytes: Buffer,
  body: Extent,
  batch: Extent | null,
  entries: readonly Extent[] | null,
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
  const before = textOf(bytes, body.start, batch.start);
  const envelope = parsed(`${before}null${textOf(bytes, batch.end, body.end)}`);
  if (!isJsonObject(envelope)) return notJson();
  if (entries === null) return noList(bytes, batch);
  if (entries.length > CALLS_MAX) {
    return refused("body-too-large", `batch has more than ${CALLS_MAX} calls`);
  }
  return { kind: "outline", calls: entries, envelope };
}

/** @param end of what was gone through; negative: it was malformed. */
function isWhole(bytes: Buffer, end: number): boolean {
  return end >= 0 && skipSpace(bytes, end) >= bytes.length;
}

function noObject(bytes: Buffer, start: number): BadBody {
  const body = valueAt(bytes, start);
  const kind = body !== null && isWhole(bytes, body.end) ? kindAt(bytes, body) : null;
  if (kind === null) return notJson();
  return refused("invalid-body", `the body is ${kind}, expected an object`);
}

function noList(bytes: Buffer, batch: Extent): BadBody {
  const kind = kindAt(bytes, batch);
  if (kind === null) return notJson();
  return refused("invalid-body", `batch is ${kind}, expected a list of calls`);
}

function notJson(): BadBody {
  return refused("invalid-json", "the body is not JSON");
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

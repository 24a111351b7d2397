/**
 * Reads a record of `deletion-requests`: `{"userId", "timestamp"?, "sourceIds"?, "suppress"?}`
 * (docs/deletions.md#requests).
 *
 *   the value                                    result
 *   cannot be decoded (`decode.ts`)              undecodable, unknown-schema
 *   is not an object                             invalid-deletion
 *
 *   userId      a string that is not empty       that user
 *               a number                         its string, as in calls
 *               anything else, or absent         invalid-deletion
 *   sourceIds   a list of strings and numbers    these sources, without duplicates
 *               null in an Avro record           as if the field were absent
 *               anything else, null or []        invalid-deletion
 *               absent, but a field has a        invalid-deletion
 *                 similar name
 *               absent                           every source
 *   suppress    true                             the user is also suppressed
 *               true, with sourceIds             invalid-deletion: a user is suppressed everywhere
 *               true, and userId has no UTF-8    invalid-deletion: such a user cannot be suppressed
 *               false or null                    as if the field were absent
 *               anything else                    invalid-deletion
 *               absent, but a field has a        invalid-deletion
 *                 similar name
 *   timestamp   a valid time                     that time
 *               anything else, or absent         null: the record's time is used
 *
 * A request without `sourceIds` is for every source. A misspelled field name must not delete more than was intended,
 * because deleted data cannot be restored. Requests with `sourceId`, `source_ids` or `Sources` are therefore
 * rejected.
 */

import { decodeValue, type RecordValue } from "../../domain/decode.ts";
import { describe, isJsonObject, type JsonObject, kindOf } from "../../domain/json.ts";
import { readTimestamp } from "../../domain/timestamp.ts";
import { canBeSuppressed } from "../suppression/suppression-record.ts";

export interface DeletionRequest {
  /** Never empty. */
  readonly userId: string;
  /** Null for every source; otherwise at least one ID, without duplicates. The IDs may be unknown. */
  readonly sourceIds: readonly string[] | null;
  /** Null if the request has no valid timestamp. */
  readonly timestampMs: number | null;
  readonly suppress: boolean;
}

/** Why a request cannot be carried out. */
export interface Refusal {
  readonly kind: "refused";
  readonly reason: "undecodable" | "unknown-schema" | "invalid-deletion" | "unknown-source";
  /** One sentence, which may quote source IDs, but nothing else from the value. */
  readonly error: string;
}

export type ParsedRequest =
  | { readonly kind: "request"; readonly request: DeletionRequest }
  | Refusal;

export function parseRequest(record: RecordValue): ParsedRequest {
  const decoded = decodeValue(record);
  if (decoded.kind === "refused") return decoded;
  const { json } = decoded;
  if (!isJsonObject(json)) {
    return invalid(`a deletion request must be a JSON object, but this is ${kindOf(json)}`);
  }
  const userId = asId(json.userId);
  if (userId === null) {
    return invalid(`userId is ${kindOf(json.userId)}, expected a string or a number`);
  }
  const known = record.schema?.known;
  const hasNulls = known?.kind === "schema" && known.hasNulls === true;
  const listed = parseSourceIds(hasNulls ? withoutNulls(json) : json);
  if (listed.kind === "refused") return listed;
  const { sourceIds } = listed;
  const problem = suppressProblem(json, userId, sourceIds);
  if (problem !== null) return invalid(problem);
  const timestampMs = readTimestamp(json.timestamp);
  const suppress = json.suppress === true;
  return { kind: "request", request: { userId, sourceIds, timestampMs, suppress } };
}

type ParsedSourceIds =
  | { readonly kind: "sources"; readonly sourceIds: DeletionRequest["sourceIds"] }
  | Refusal;

function withoutNulls(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}

const EVERY_SOURCE: ParsedSourceIds = { kind: "sources", sourceIds: null };
const MEANT_FOR_SOURCE_IDS = /^sources?(?:ids?)?$/;

function parseSourceIds(json: JsonObject): ParsedSourceIds {
  if (!Object.hasOwn(json, "sourceIds")) {
    const meant = Object.keys(json).find((field) =>
      MEANT_FOR_SOURCE_IDS.test(field.replace(/[\s_.-]/g, "").toLowerCase()),
    );
    if (meant === undefined) return EVERY_SOURCE;
    return invalid(
      `the field ${describe(meant)} is unknown. Use sourceIds, or omit the field to delete the user from every source`,
    );
  }
  const given = json.sourceIds;
  const expected = "expected a list of IDs. To delete the user from every source, omit sourceIds";
  if (!Array.isArray(given)) return invalid(`sourceIds is ${kindOf(given)}, ${expected}`);
  if (given.length === 0) return invalid(`sourceIds is an empty list, ${expected}`);
  const sourceIds = new Set<string>();
  for (const [index, entry] of given.entries()) {
    const id = asId(entry);
    if (id === null) {
      return invalid(`sourceIds[${index}] is ${kindOf(entry)}, expected the ID of a source`);
    }
    sourceIds.add(id);
  }
  return { kind: "sources", sourceIds: [...sourceIds] };
}

const MEANT_FOR_SUPPRESS = /^suppress(?:ed|ion)?$/i;

/** Returns why the request cannot suppress the user; null if it can, or does not ask for it. */
function suppressProblem(
  json: JsonObject,
  userId: string,
  sourceIds: DeletionRequest["sourceIds"],
): string | null {
  const { suppress = null } = json;
  if (suppress === null || suppress === false) {
    const names = Object.keys(json).filter((field) => field !== "suppress");
    const meant = names.find((field) => MEANT_FOR_SUPPRESS.test(field));
    return meant === undefined ? null : `the field ${describe(meant)} is unknown. Use suppress`;
  }
  if (suppress !== true) return `suppress is ${kindOf(suppress)}, expected true or false`;
  if (sourceIds !== null) return "suppress applies to every source, so sourceIds must be omitted";
  return canBeSuppressed(userId) ? null : "userId has no form in UTF-8, so it cannot be suppressed";
}

function asId(value: unknown): string | null {
  if (typeof value === "string") return value === "" ? null : value;
  return typeof value === "number" && Number.isFinite(value) ? `${value}` : null;
}

function invalid(error: string): Refusal {
  return { kind: "refused", reason: "invalid-deletion", error };
}

/**
 * Reads a record of `deletion-requests`: `{"userId", "timestamp"?, "sourceIds"?}`
 * (docs/deletions.md#requests).
 *
 *   the value                                    is
 *   not to be decoded (`decode.ts`)              undecodable, unknown-schema
 *   no object                                    invalid-deletion
 *
 *   userId      text that is not empty           that user
 *               a number                         the text of it, as in calls
 *               anything else, or absent         invalid-deletion
 *   sourceIds   a list of texts and numbers      these sources, each once
 *               null, of an Avro schema          as if the field were absent
 *               anything else, null and []       invalid-deletion
 *               absent, but there is a field     invalid-deletion
 *                 that was meant for it
 *               absent                           every source
 *   timestamp   one that can be read             that time
 *               anything else, or absent         null: the record's time will do
 *
 * Only a request without `sourceIds` is for every source. A mistake must not become one, since
 * deleted data does not come back. Hence `sourceId`, `source_ids` or `Sources` are refused.
 */

import { decodeValue, type RecordValue } from "../domain/decode.ts";
import { describe, isJsonObject, type JsonObject, kindOf } from "../domain/json.ts";
import { readTimestamp } from "../domain/timestamp.ts";

export interface DeletionRequest {
  /** Never empty. */
  readonly userId: string;
  /** Null: every source. Else at least one id, each once; perhaps none of a configured source. */
  readonly sourceIds: readonly string[] | null;
  /** As the request says; null: it does not. */
  readonly timestampMs: number | null;
}

/** Why a request cannot be carried out. */
export interface Refusal {
  readonly kind: "refused";
  readonly reason: "undecodable" | "unknown-schema" | "invalid-deletion" | "unknown-source";
  /** One sentence, without any of the value but ids of sources. */
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
    return invalid(`a deletion request is a JSON object, this is ${kindOf(json)}`);
  }
  const userId = asId(json.userId);
  if (userId === null) {
    return invalid(`userId is ${kindOf(json.userId)}, expected text or a number`);
  }
  const known = record.schema?.known;
  const hasNulls = known?.kind === "schema" && known.hasNulls === true;
  const listed = parseSourceIds(hasNulls ? withoutNulls(json) : json);
  if (listed.kind === "refused") return listed;
  const { sourceIds } = listed;
  const timestampMs = readTimestamp(json.timestamp);
  return { kind: "request", request: { userId, sourceIds, timestampMs } };
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
      `there is a field ${describe(meant)}, expected sourceIds, or none for every source`,
    );
  }
  const given = json.sourceIds;
  const expected = "expected a list of ids, or no such field for every source";
  if (!Array.isArray(given)) return invalid(`sourceIds is ${kindOf(given)}, ${expected}`);
  if (given.length === 0) return invalid(`sourceIds is an empty list, ${expected}`);
  const sourceIds = new Set<string>();
  for (const [index, entry] of given.entries()) {
    const id = asId(entry);
    if (id === null) {
      return invalid(`sourceIds[${index}] is ${kindOf(entry)}, expected the id of a source`);
    }
    sourceIds.add(id);
  }
  return { kind: "sources", sourceIds: [...sourceIds] };
}

function asId(value: unknown): string | null {
  if (typeof value === "string") return value === "" ? null : value;
  return typeof value === "number" && Number.isFinite(value) ? `${value}` : null;
}

function invalid(error: string): Refusal {
  return { kind: "refused", reason: "invalid-deletion", error };
}

/**
 * Finds the source of a record (docs/calls.md#source). The first row whose field is present decides. Later rows are
 * ignored, even if the field names a source that is not configured.
 *
 *   present                         the source is
 *   the header source-id            the one with that ID (if the header is repeated, the last one counts)
 *   sourceId in the value           the one with that ID
 *   writeKey in the value           the one with that write key
 *   none of these                   the default source
 *
 * If there is no default source, or no source with that ID or key, the result is `unknown-source`. The empty string
 * and null count as absent. A number is read as a string of its digits.
 */

import type { Source } from "./destination.ts";
import type { SourceId } from "./ids.ts";
import { describe, isJsonObject } from "./json.ts";
import type { RecordHeaders } from "./record.ts";

export const SOURCE_HEADER = "source-id";

/** Sources, indexed by the IDs and write keys that records contain. */
export interface SourceLookup {
  readonly byId: ReadonlyMap<unknown, Source>;
  readonly byWriteKey: ReadonlyMap<unknown, Source>;
  readonly defaultSource: Source | null;
}

export type NamedBy = "header source-id" | "sourceId" | "writeKey" | "defaultSource";

export type FoundSource =
  | { readonly kind: "source"; readonly source: Source; readonly namedBy: NamedBy }
  | { readonly kind: "refused"; readonly reason: "unknown-source"; readonly error: string };

export function sourceLookup(
  sources: readonly Source[],
  defaultSource: SourceId | null,
): SourceLookup {
  const byId = new Map(sources.map((source) => [source.id, source]));
  const keys = sources.flatMap((source) => source.writeKeys.map((key) => [key, source] as const));
  return {
    byId,
    byWriteKey: new Map(keys),
    defaultSource: (defaultSource === null ? undefined : byId.get(defaultSource)) ?? null,
  };
}

/** @param json the record's value; only an object can name a source. */
export function sourceOf(headers: RecordHeaders, json: unknown, lookup: SourceLookup): FoundSource {
  const header = sourceHeader(headers);
  if (header !== null) return byId(lookup, header, "header source-id");
  if (isJsonObject(json)) {
    const { sourceId, writeKey } = json;
    if (isPresent(sourceId)) return byId(lookup, sourceId, "sourceId");
    if (isPresent(writeKey)) {
      const source = lookup.byWriteKey.get(asText(writeKey));
      // The message does not contain the write key, which is a secret even if it belongs to no source.
      return found(source, "writeKey", "the writeKey belongs to no configured source");
    }
  }
  const error =
    "neither the source-id header nor the value names a source, and defaultSource is not set";
  return found(lookup.defaultSource ?? undefined, "defaultSource", error);
}

function byId(lookup: SourceLookup, id: unknown, namedBy: NamedBy): FoundSource {
  const source = lookup.byId.get(asText(id));
  return source === undefined
    ? found(source, namedBy, `the ${namedBy} is ${describe(id)}, which is not a configured source`)
    : found(source, namedBy, "");
}

function found(source: Source | undefined, namedBy: NamedBy, error: string): FoundSource {
  if (source === undefined) return { kind: "refused", reason: "unknown-source", error };
  return { kind: "source", source, namedBy };
}

function sourceHeader(headers: RecordHeaders): string | null {
  let id: string | null = null;
  for (const [name, value] of headers) {
    if (name === SOURCE_HEADER && value !== null && value.length > 0) id = value.toString();
  }
  return id;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function asText(value: unknown): unknown {
  return typeof value === "number" ? `${value}` : value;
}

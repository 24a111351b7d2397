/**
 * Looks up schemas in a registry, by ID or GUID, together with the schemas that they use.
 *
 *   several URLs      the URL that responded last, then the others in turn, until one responds
 *   a response        found, unknown or unusable: it counts, from any of the URLs
 *   no such response  from any URL: the next table decides; the error has a sentence about each URL
 *   references        one at a time, each before the schemas that use it; at most 100 schemas and 1 MiB of
 *                     schema text, beyond which the schema is unusable
 *
 *   no URL returned the schema, and                              the lookup is
 *   each rejected the credentials, or too many requests          an outage
 *   meanwhile another lookup had a response that counts          unavailable
 *   so does a probe, which looks up another schema afterwards    unavailable
 *   the probe does not                                           an outage
 *
 * The probe looks up the schema that was found last, and at first the highest possible ID, which no registry assigns.
 *
 * `@kafkajs/confluent-schema-registry` is not used for this (docs/decisions/0020-route-writes-json.md#schemas-are-looked-up-with-undici).
 */

import { visibleCell } from "../domain/escape-control.ts";
import type { SchemaRef } from "../domain/known-schemas.ts";
import { type Classified, classifySchema, type Reference } from "./classify-response.ts";
import type { FoundSchema, Lookup, RegistryConnection, SchemaSource } from "./port.ts";
import { createExchange, type Exchange } from "./registry-request.ts";

export const REFERENCES_MAX = 100;
export const TEXT_MAX_CHARACTERS = 1_048_576;
const SUBJECT_SHOWN_CHARACTERS = 100;
const HIGHEST_ID = 0x7fff_ffff;

/** @throws Error if the TLS files cannot be used. */
export function createSchemaSource(connection: RegistryConnection): SchemaSource {
  const exchanging = createExchange(connection);
  return {
    ...schemaSource(connection.urls, exchanging.exchange),
    [Symbol.asyncDispose]: () => exchanging[Symbol.asyncDispose](),
  };
}

/** Creates a source of schemas that uses the given exchange. */
export function schemaSource(
  urls: readonly string[],
  exchange: Exchange,
): Pick<SchemaSource, "lookup"> {
  const bases = urls.map((url) => url.replace(/\/+$/, ""));
  let respondedLast = 0;
  let responses = 0;
  let foundLast: SchemaRef | null = null;

  const request = async (path: string, what: string, signal: AbortSignal): Promise<Classified> => {
    const errors: string[] = [];
    let kind: "outage" | "unavailable" = "outage";
    const first = respondedLast;
    for (let tried = 0; tried < bases.length; tried += 1) {
      const index = (first + tried) % bases.length;
      const url = `${bases[index]}${path}`;
      const classified = classifySchema(await exchange({ method: "GET", url }, signal), url, what);
      if (classified.kind !== "outage" && classified.kind !== "unavailable") {
        respondedLast = index;
        responses += 1;
        return classified;
      }
      if (classified.kind === "unavailable") kind = "unavailable";
      errors.push(classified.error);
      if (signal.aborted) break;
    }
    return { kind, error: [...new Set(errors)].join("; and ") };
  };

  /** True if the registry responds to a lookup of another schema than this one. */
  const respondsToOthers = async (ref: SchemaRef, signal: AbortSignal): Promise<boolean> => {
    const highest = ref === HIGHEST_ID ? HIGHEST_ID - 1 : HIGHEST_ID;
    const other = foundLast === null || foundLast === ref ? highest : foundLast;
    const { kind } = await request(pathOf(other), `schema ${other}`, signal);
    return kind !== "outage" && kind !== "unavailable";
  };

  const lookup = async (ref: SchemaRef, signal: AbortSignal): Promise<Lookup> => {
    const before = responses;
    const result = await gathered(ref, signal);
    if (result.kind === "found") foundLast = ref;
    if (result.kind !== "unavailable") return result;
    if (signal.aborted) return { ...result, kind: "outage" };
    const responds = responses > before || (await respondsToOthers(ref, signal));
    return responds ? result : { ...result, kind: "outage" };
  };

  const gathered = async (ref: SchemaRef, signal: AbortSignal): Promise<Lookup> => {
    const what = `schema ${ref}`;
    const classified = await request(pathOf(ref), what, signal);
    if (classified.kind !== "found") return classified;
    const used = new Used(classified.text.length);
    const failed = await gather(classified.references, used, what, (reference) => {
      const { subject, version } = reference;
      // Soft-deleted schemas are included, because schemas that refer to them still use them.
      const at = `/subjects/${encodeURIComponent(subject.toWellFormed())}/versions/${version}?deleted=true`;
      const shown = visibleCell(subject.slice(0, SUBJECT_SHOWN_CHARACTERS));
      return request(at, `version ${version} of ${shown}, which ${what} uses`, signal);
    });
    if (failed !== null) return failed;
    const { type, text } = classified;
    return { kind: "found", schema: { type, text, references: used.schemas } };
  };

  return { lookup };
}

function pathOf(ref: SchemaRef): string {
  return typeof ref === "number" ? `/schemas/ids/${ref}` : `/schemas/guids/${ref}`;
}

/** The schemas that one schema uses, as far as they have been looked up. */
class Used {
  readonly schemas: FoundSchema["references"][number][] = [];
  readonly seen = new Set<string>();
  characters: number;

  constructor(characters: number) {
    this.characters = characters;
  }
}

/**
 * Looks up the schemas that a schema uses, in the order in which Confluent's serializers for Java visit them. Each one
 * is requested once, even if it uses itself. Returns null, or the reason why one was not found.
 */
async function gather(
  references: readonly Reference[],
  used: Used,
  what: string,
  request: (reference: Reference) => Promise<Classified>,
): Promise<Exclude<Lookup, { readonly kind: "found" }> | null> {
  for (const reference of references) {
    const key = JSON.stringify([reference.name, reference.subject, reference.version]);
    if (used.seen.has(key)) continue;
    used.seen.add(key);
    if (used.seen.size > REFERENCES_MAX) {
      const error = `${what} uses more than ${REFERENCES_MAX} other schemas, the maximum`;
      return { kind: "unusable", error };
    }
    const classified = await request(reference);
    if (classified.kind !== "found") return classified;
    used.characters += classified.text.length;
    if (used.characters > TEXT_MAX_CHARACTERS) {
      const error = `${what} and the schemas that it uses are larger than 1 MiB, the maximum`;
      return { kind: "unusable", error };
    }
    const failed = await gather(classified.references, used, what, request);
    if (failed !== null) return failed;
    used.schemas.push({ name: reference.name, text: classified.text });
  }
  return null;
}

/**
 * A source of schemas that uses the current connection settings: URLs, passwords and TLS files change
 * while the program runs.
 *
 *   the connection                        a lookup
 *   is unchanged                          uses the same source
 *   has changed                           uses a new source; the old one is closed, and its lookups become
 *                                         outages, which the caller retries
 *   has TLS files that cannot be used     is an outage
 *
 * @param create creates a source, as `createSchemaSource` does.
 * @throws Error if the TLS files of the first connection cannot be used.
 */
export function currentSource(
  connection: () => RegistryConnection,
  create: (connection: RegistryConnection) => SchemaSource,
): SchemaSource {
  const first = connection();
  let source = create(first);
  let known = JSON.stringify(first);
  return {
    lookup: async (ref, signal) => {
      const now = connection();
      const text = JSON.stringify(now);
      if (text !== known) {
        try {
          const next = create(now);
          const old = source;
          [source, known] = [next, text];
          await old[Symbol.asyncDispose]();
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          return { kind: "outage", error: `the registry's TLS files cannot be used: ${why}` };
        }
      }
      return await source.lookup(ref, signal);
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

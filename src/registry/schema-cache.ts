/**
 * A cache of lookup results with a size limit. It keeps the results that were used most recently.
 *
 * The cache has two generations, and an entry that is used moves to the young one. When the young generation is full,
 * it becomes the old one, and the previous old generation is dropped. While the same few schemas are in use, `get`
 * therefore writes nothing. The most recently used schemas are always cached, up to half of the limit.
 */

import type { KnownSchema, SchemaRef } from "../domain/known-schemas.ts";

interface CachedSchema {
  readonly known: KnownSchema;
  /** The entry's share of the limit. */
  readonly characters: number;
  readonly untilMs: number;
}

interface CacheLimits {
  readonly schemas: number;
  readonly characters: number;
}

export class SchemaCache {
  readonly #generation: CacheLimits;
  #young = new Map<SchemaRef, CachedSchema>();
  #old = new Map<SchemaRef, CachedSchema>();
  #youngCharacters = 0;

  constructor(limits: CacheLimits) {
    this.#generation = { schemas: limits.schemas / 2, characters: limits.characters / 2 };
  }

  /** The number of entries. Entries in both generations count twice. */
  get size(): number {
    let size = this.#young.size;
    for (const ref of this.#old.keys()) if (!this.#young.has(ref)) size += 1;
    return size;
  }

  get(ref: SchemaRef, nowMs: () => number): KnownSchema | null {
    const young = this.#young.get(ref);
    const schema = young ?? this.#old.get(ref);
    if (schema === undefined) return null;
    if (schema.untilMs !== Number.POSITIVE_INFINITY && nowMs() >= schema.untilMs) return null;
    if (young === undefined) this.put(ref, schema);
    return schema.known;
  }

  /** Adds an entry. An entry that is larger than a generation gets a separate generation. */
  put(ref: SchemaRef, schema: CachedSchema): void {
    const before = this.#young.get(ref);
    const characters = this.#youngCharacters - (before?.characters ?? 0) + schema.characters;
    const isFull =
      (before === undefined && this.#young.size >= this.#generation.schemas) ||
      (this.#young.size > 0 && characters > this.#generation.characters);
    if (isFull) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngCharacters = schema.characters;
    } else {
      this.#youngCharacters = characters;
    }
    this.#young.set(ref, schema);
  }
}

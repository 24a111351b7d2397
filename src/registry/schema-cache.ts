/**
 * A bounded number of answers by schema, the ones used last.
 *
 * Two generations: what is used goes into the young one. When that is full it becomes the old one,
 * and what was left in the old one is forgotten. So `get` writes nothing as long as the same few
 * schemas are in use, and half of the limit, the ones used last, is always there.
 */

import type { KnownSchema, SchemaRef } from "../domain/known-schemas.ts";

interface CachedSchema {
  readonly known: KnownSchema;
  /** Its share of the room. */
  readonly characters: number;
  /** From then on it counts no more. */
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

  /** At most as many answers as there is room for; of two generations, some may be in both. */
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

  /** One that is larger than a generation has it alone. */
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

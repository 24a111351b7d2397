/**
 * A bounded number of answers by schema, the ones used last.
 *
 * Two generations: what is used goes into the young one. When that is full it becomes the old one,
 * and what was left in the old one is forgotten. So `get` writes nothing as long as the same few
 * schemas are in use, and half of the limit, the ones used last, is always there.
 */

import type { KnownSchema, SchemaRef } from "../domain/known-schemas.ts";

export interface Answer {
  readonly known: KnownSchema;
  /** Its share of the room. */
  readonly characters: number;
  /** From then on it counts no more. */
  readonly untilMs: number;
}

export interface Room {
  readonly answers: number;
  readonly characters: number;
}

export class Kept {
  readonly #generation: Room;
  #young = new Map<SchemaRef, Answer>();
  #old = new Map<SchemaRef, Answer>();
  #youngCharacters = 0;

  constructor(room: Room) {
    this.#generation = { answers: room.answers / 2, characters: room.characters / 2 };
  }

  /** At most as many answers as there is room for; of two generations, some may be in both. */
  get size(): number {
    let size = this.#young.size;
    for (const ref of this.#old.keys()) if (!this.#young.has(ref)) size += 1;
    return size;
  }

  get(ref: SchemaRef, nowMs: () => number): KnownSchema | null {
    const young = this.#young.get(ref);
    const answer = young ?? this.#old.get(ref);
    if (answer === undefined) return null;
    if (answer.untilMs !== Number.POSITIVE_INFINITY && nowMs() >= answer.untilMs) return null;
    if (young === undefined) this.put(ref, answer);
    return answer.known;
  }

  /** One that is larger than a generation has it alone. */
  put(ref: SchemaRef, answer: Answer): void {
    const before = this.#young.get(ref);
    const characters = this.#youngCharacters - (before?.characters ?? 0) + answer.characters;
    const isFull =
      (before === undefined && this.#young.size >= this.#generation.answers) ||
      (this.#young.size > 0 && characters > this.#generation.characters);
    if (isFull) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngCharacters = answer.characters;
    } else {
      this.#youngCharacters = characters;
    }
    this.#young.set(ref, answer);
  }
}

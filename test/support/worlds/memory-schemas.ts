/** Schemas of a registry that responds when a test requests it. */

import type { KnownSchema, SchemaRef } from "../../../src/domain/known-schemas.ts";
import { compileSchema } from "../../../src/registry/compile.ts";
import type { Schemas } from "../../../src/registry/port.ts";

export class MemorySchemas implements Schemas {
  readonly #known = new Map<SchemaRef, KnownSchema>();
  readonly #waiting = new Set<() => void>();
  /** The arguments of the calls of `ready`. */
  readonly asked: (readonly SchemaRef[])[] = [];
  /** Number of calls of `ready` that are waiting. */
  waiting = 0;

  get(ref: SchemaRef): KnownSchema | null {
    return this.#known.get(ref) ?? null;
  }

  async ready(refs: readonly SchemaRef[], signal: AbortSignal): Promise<void> {
    this.asked.push(refs);
    this.waiting += 1;
    try {
      while (refs.some((ref) => !this.#known.has(ref))) {
        signal.throwIfAborted();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#waiting.add(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        this.#waiting.delete(resolve);
      }
      signal.throwIfAborted();
    } finally {
      this.waiting -= 1;
    }
  }

  /** Schemas that were requested ahead. A test ends these requests with `respond`. */
  readonly ahead = new Map<SchemaRef, () => void>();

  async request(ref: SchemaRef, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ahead.set(ref, resolve);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    await promise.finally(() => this.ahead.delete(ref));
  }

  learn(ref: SchemaRef, known: KnownSchema): void {
    this.#known.set(ref, known);
    for (const resolve of this.#waiting) resolve();
  }

  learnAvro(ref: SchemaRef, schema: unknown): void {
    const text = JSON.stringify(schema);
    this.learn(ref, compileSchema({ type: "AVRO", text, references: [] }));
  }

  forget(ref: SchemaRef): void {
    this.#known.delete(ref);
  }

  readonly healthProblems = () => [];

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

export const UNKNOWN: KnownSchema = {
  kind: "refused",
  reason: "unknown-schema",
  error: "the registry does not know the schema",
};

/**
 * Says once that a registry does not answer, and once that it does again, however many schemas are
 * waited for. Pure: the caller writes the lines.
 *
 *   what happens                                  line
 *   a look-up gets no answer                      warn  registry.unreachable, at most once a minute
 *   an answer, and others still get none          -
 *   an answer, and no other gets none             info  registry.reachable, if the line above was said
 *   nobody waits any more for one that gets none  -     as if it had never been asked for
 *
 * One schema that the registry cannot give counts, too: its partition waits.
 */

import type { SchemaRef } from "../domain/known-schemas.ts";

const REPEAT_AFTER_MS = 60_000;

export type OutageLine =
  | { readonly msg: "registry.unreachable"; readonly unreachableForMs: number }
  | { readonly msg: "registry.reachable"; readonly unreachableForMs: number };

export class Outage {
  /** Those whose last look-up got no answer. */
  readonly #failing = new Set<SchemaRef>();
  #sinceMs: number | null = null;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  /** Of this outage. */
  #isReported = false;
  #error = "";

  /** Null: the registry answers, or nobody waits for it. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }

  failed(ref: SchemaRef, error: string, nowMs: number): OutageLine | null {
    this.#failing.add(ref);
    this.#error = error;
    this.#sinceMs ??= nowMs;
    // A clock that was set back says it too.
    if (Math.abs(nowMs - this.#reportedAtMs) < REPEAT_AFTER_MS) return null;
    this.#reportedAtMs = nowMs;
    this.#isReported = true;
    return { msg: "registry.unreachable", unreachableForMs: nowMs - this.#sinceMs };
  }

  responded(ref: SchemaRef, nowMs: number): OutageLine | null {
    const [sinceMs, isReported] = [this.#sinceMs, this.#isReported];
    this.left(ref);
    if (sinceMs === null || this.#sinceMs !== null || !isReported) return null;
    return { msg: "registry.reachable", unreachableForMs: nowMs - sinceMs };
  }

  /** Nobody waits for it any more. */
  left(ref: SchemaRef): void {
    this.#failing.delete(ref);
    if (this.#failing.size > 0) return;
    this.#sinceMs = null;
    this.#isReported = false;
  }

  /** For `/readyz`. */
  healthProblems(nowMs: number): readonly string[] {
    const { size } = this.#failing;
    if (this.#sinceMs === null) return [];
    const forS = Math.round((nowMs - this.#sinceMs) / 1_000);
    const schemas = size === 1 ? "1 schema has" : `${size} schemas have`;
    return [`${schemas} been waited for in vain for ${forS} s: ${this.#error}`];
  }
}

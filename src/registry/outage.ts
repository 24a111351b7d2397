/**
 * Reports once that a registry is unreachable, and once that it responds again, regardless of the number of schemas.
 * The caller writes the log lines.
 *
 *   what happens                                  log line
 *   a lookup gets no response                     warn  registry.unreachable, at most once a minute
 *   a response, but another lookup still gets none  -
 *   a response, and every lookup now gets one     info  registry.reachable, if the line above was logged
 *   the last missing schema is no longer needed   -     the schema counts as never requested
 *
 * Even a single schema that the registry cannot return counts as an outage, because the partition that needs it waits.
 */

import type { SchemaRef } from "../domain/known-schemas.ts";

const REPEAT_AFTER_MS = 60_000;

export type OutageLine =
  | { readonly msg: "registry.unreachable"; readonly unreachableForMs: number }
  | { readonly msg: "registry.reachable"; readonly unreachableForMs: number };

export class Outage {
  /** Schemas whose last lookup got no response. */
  readonly #failing = new Set<SchemaRef>();
  #sinceMs: number | null = null;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  /** True if this outage has been logged. */
  #isReported = false;
  #error = "";

  /** When the outage started; null if the registry responds, or if no schema is needed. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }

  failed(ref: SchemaRef, error: string, nowMs: number): OutageLine | null {
    this.#failing.add(ref);
    this.#error = error;
    this.#sinceMs ??= nowMs;
    // If the clock was set back, the line is also logged.
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

  /** Call when the schema is no longer needed. */
  left(ref: SchemaRef): void {
    this.#failing.delete(ref);
    if (this.#failing.size > 0) return;
    this.#sinceMs = null;
    this.#isReported = false;
  }

  /** Sentences for `/readyz`. */
  healthProblems(nowMs: number): readonly string[] {
    const { size } = this.#failing;
    if (this.#sinceMs === null) return [];
    const forS = Math.round((nowMs - this.#sinceMs) / 1_000);
    const schemas = size === 1 ? "1 schema has" : `${size} schemas have`;
    return [`${schemas} been unavailable for ${forS} s: ${this.#error}`];
  }
}

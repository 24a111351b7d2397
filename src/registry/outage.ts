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
 * Decides how long records wait for a schema that the registry does not return although it responds to other lookups.
 *
 *   the registry does not return a schema, and    records that need the schema
 *   does not respond to other lookups either      wait: this is an outage
 *   has not returned it for less than 30 s        wait
 *   has not returned it for 30 s or longer        become dead letters with the reason unknown-schema; once in 10 s,
 *                                                 a record waits for another lookup
 *   an outage or a restart in between, or 10 min  wait for 30 s again
 *     without a lookup
 *
 * The 30 s are counted from the first lookup, which is sent before the partition has reached the record if possible
 * (`await-schemas.ts`). Records with many such schemas therefore do not wait for 30 s each.
 */

import type { SchemaRef } from "../domain/known-schemas.ts";

const REPEAT_AFTER_MS = 60_000;
/** For a registry that is restarted behind a load balancer, this is enough time to respond to every lookup again. */
export const PATIENCE_MS = 30_000;
const FORGET_AFTER_MS = 600_000;
const REMEMBERED_MAX = 10_000;
const SHOWN_MAX = 3;

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

/** The schemas that the registry does not return although it responds to other lookups. */
export class Unavailable {
  readonly #schemas = new Map<SchemaRef, { readonly sinceMs: number; readonly untilMs: number }>();

  /** Call after each such lookup. Returns `true` if records do not wait for the schema any longer. */
  failed(ref: SchemaRef, nowMs: number): boolean {
    const before = this.#schemas.get(ref);
    const sinceMs = before !== undefined && nowMs < before.untilMs ? before.sinceMs : nowMs;
    if (this.#schemas.size >= REMEMBERED_MAX && before === undefined) this.#schemas.clear();
    this.#schemas.set(ref, { sinceMs, untilMs: nowMs + FORGET_AFTER_MS });
    return Math.abs(nowMs - sinceMs) >= PATIENCE_MS;
  }

  /** Call when the registry has returned the schema, or responds to no lookup at all. */
  responded(ref: SchemaRef): void {
    this.#schemas.delete(ref);
  }

  /** How long records still wait for the schema; infinite if it is not one of these schemas. */
  leftMs(ref: SchemaRef, nowMs: number): number {
    const { sinceMs } = this.#schemas.get(ref) ?? { sinceMs: Number.POSITIVE_INFINITY };
    return Math.max(0, sinceMs + PATIENCE_MS - nowMs);
  }

  /** A sentence for `/readyz`. @param waiting the schemas for which records wait. */
  healthProblems(waiting: Iterable<SchemaRef>): readonly string[] {
    const schemas = [...waiting].filter((ref) => this.#schemas.has(ref)).slice(0, SHOWN_MAX);
    if (schemas.length === 0) return [];
    const forS = PATIENCE_MS / 1_000;
    return [
      `records wait up to ${forS} s for schemas that the registry does not return, although it responds to other lookups: ${schemas.join(", ")}`,
    ];
  }
}

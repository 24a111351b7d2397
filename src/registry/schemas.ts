/**
 * Caches the schemas that this process has looked up, and looks up others.
 *
 *   result       cached                                           meanwhile
 *   found        the 1,000 most recently used, at most 8 Mi       values are read, even during an outage
 *                characters
 *   unusable     the same                                         values are rejected: undecodable
 *   unknown      10 s, at most 10,000                             values are rejected: unknown-schema
 *   outage       no: retried after 0.1 s, doubling to 10 s; each  records that need the schema wait
 *                wait is randomly shortened by up to half
 *   unavailable  the same; after 30 s, as unknown (`outage.ts`)   the same; after 30 s, values are rejected
 *
 * At most one request per schema is in flight, which all callers share, and at most eight in total. A lookup whose
 * result is no longer needed is canceled. Each schema has its own retry delay, so a schema that the registry cannot
 * return does not block any other.
 */

import { createHash } from "node:crypto";
import { asError } from "../base/runtime/as-error.ts";
import type { Clock } from "../base/runtime/clock.ts";
import type { Metrics } from "../base/telemetry/instruments.ts";
import type { Log } from "../base/telemetry/log.ts";
import type { KnownSchema, SchemaRef } from "../domain/known-schemas.ts";
import { Outage, type OutageLine, PATIENCE_MS, Unavailable } from "./outage.ts";
import type { FoundSchema, Lookup, SchemaSource, Schemas } from "./port.ts";
import { SchemaCache } from "./schema-cache.ts";

export interface SchemasDeps {
  /** Closed together with the schemas. */
  readonly source: SchemaSource;
  /** Returns an error for a schema that it cannot compile. */
  readonly compile: (schema: FoundSchema) => KnownSchema;
  readonly clock: Clock;
  /** At least 0 and less than 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface SchemasLimits {
  readonly schemas: number;
  /** Maximum characters of the schemas' text. Compiled schemas take several times as much memory. */
  readonly characters: number;
  readonly unknown: number;
  readonly maxLookups: number;
}

const LIMITS: SchemasLimits = {
  schemas: 1_000,
  characters: 8 * 1_048_576,
  unknown: 10_000,
  maxLookups: 8,
};
const UNKNOWN_FOR_MS = 10_000;
/** Hashes are kept longer than schemas, so that a schema that changes after it was dropped is detected. */
const HASHES_MAX = 10_000;

interface LookupInFlight {
  waiting: number;
  readonly over: AbortController;
  /** Resolves after the first lookup, or when `ended` resolves. */
  readonly requested: Promise<void>;
  /** Never rejects. */
  readonly ended: Promise<void>;
}

/** The caller closes the result once no call to `ready` is waiting. */
export function createSchemas(deps: SchemasDeps, limits: SchemasLimits = LIMITS): Schemas {
  return new RegistrySchemas(deps, limits);
}

class RegistrySchemas implements Schemas {
  readonly #deps: SchemasDeps;
  readonly #known: SchemaCache;
  readonly #unknown: SchemaCache;
  readonly #inFlight = new Map<SchemaRef, LookupInFlight>();
  readonly #limit: ConcurrencyLimit;
  readonly #outage = new Outage();
  readonly #unavailable = new Unavailable();
  readonly #hashes = new Map<SchemaRef, string>();
  readonly #nowMs: () => number;
  readonly #endScrape: () => void;

  constructor(deps: SchemasDeps, limits: SchemasLimits) {
    const { clock, metrics } = deps;
    this.#deps = deps;
    this.#known = new SchemaCache({ schemas: limits.schemas, characters: limits.characters });
    this.#unknown = new SchemaCache({
      schemas: limits.unknown,
      characters: Number.POSITIVE_INFINITY,
    });
    this.#limit = new ConcurrencyLimit(limits.maxLookups);
    this.#nowMs = () => clock.nowMs();
    const schemas = metrics.registrySchemas.bind({});
    const waiting = metrics.registryWaiting.bind({});
    const since = metrics.registryUnreachableSince.bind({});
    this.#endScrape = metrics.onScrape(() => {
      schemas.set(this.#known.size);
      waiting.set(this.#inFlight.size);
      since.set((this.#outage.sinceMs ?? 0) / 1_000);
    });
  }

  get(ref: SchemaRef): KnownSchema | null {
    return this.#known.get(ref, this.#nowMs) ?? this.#unknown.get(ref, this.#nowMs);
  }

  ready(refs: readonly SchemaRef[], signal: AbortSignal): Promise<void> {
    return this.#after(refs, ({ ended }) => ended, signal);
  }

  request(ref: SchemaRef, signal: AbortSignal): Promise<void> {
    return this.#after([ref], ({ requested }) => requested, signal);
  }

  async #after(
    refs: readonly SchemaRef[],
    step: (inFlight: LookupInFlight) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const missing = [...new Set(refs)].filter((ref) => this.get(ref) === null);
    if (missing.length === 0) return;
    const joined = missing.map((ref) => [ref, this.#join(ref)] as const);
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const steps = joined.map(([, inFlight]) => step(inFlight));
      await Promise.race([Promise.all(steps), aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      for (const [ref, inFlight] of joined) this.#leave(ref, inFlight);
    }
    signal.throwIfAborted();
  }

  readonly healthProblems = (): readonly string[] => [
    ...this.#outage.healthProblems(this.#nowMs()),
    ...this.#unavailable.healthProblems(this.#inFlight.keys()),
  ];

  async [Symbol.asyncDispose](): Promise<void> {
    this.#endScrape();
    const all = [...this.#inFlight.values()];
    for (const { over } of all) over.abort();
    await Promise.all(all.map(({ ended }) => ended));
    await this.#deps.source[Symbol.asyncDispose]();
  }

  #join(ref: SchemaRef): LookupInFlight {
    const found = this.#inFlight.get(ref);
    if (found !== undefined) {
      found.waiting += 1;
      return found;
    }
    const over = new AbortController();
    const { promise: requested, resolve } = Promise.withResolvers<void>();
    const ended = this.#lookup(ref, over.signal, resolve).finally(resolve);
    const inFlight = { waiting: 1, over, requested, ended };
    this.#inFlight.set(ref, inFlight);
    return inFlight;
  }

  #leave(ref: SchemaRef, inFlight: LookupInFlight): void {
    inFlight.waiting -= 1;
    if (inFlight.waiting > 0) return;
    inFlight.over.abort();
    if (this.#inFlight.get(ref) !== inFlight) return;
    this.#inFlight.delete(ref);
    this.#outage.left(ref);
  }

  /** Looks up a schema until there is a result, or until the lookup is canceled. Never rejects. */
  async #lookup(ref: SchemaRef, signal: AbortSignal, requested: () => void): Promise<void> {
    const { source, clock, random } = this.#deps;
    for (let failures = 0; ; failures += 1) {
      const lookup = await this.#limit.during(() => source.lookup(ref, signal), signal);
      // If the lookup was canceled, a new one may already be in progress. The result of the new one counts.
      if (lookup === null || signal.aborted) return;
      if (this.#keep(ref, lookup)) return;
      requested();
      const leftMs = this.#unavailable.leftMs(ref, clock.nowMs());
      try {
        await clock.sleep(Math.min(leftMs, retryDelayMs(failures, random())), signal);
      } catch {
        return;
      }
    }
  }

  /** Caches the result; returns false if the schema has to be looked up again. */
  #keep(ref: SchemaRef, lookup: Lookup): boolean {
    const nowMs = this.#nowMs();
    if (lookup.kind !== "unavailable") this.#unavailable.responded(ref);
    if (lookup.kind === "outage") {
      this.#report(this.#outage.failed(ref, lookup.error, nowMs), lookup.error);
      return false;
    }
    this.#report(this.#outage.responded(ref, nowMs), "");
    if (lookup.kind === "unavailable" && !this.#unavailable.failed(ref, nowMs)) return false;
    this.#inFlight.delete(ref);
    if (lookup.kind === "unknown" || lookup.kind === "unavailable") {
      const error = lookup.kind === "unknown" ? lookup.error : unavailableText(ref, lookup.error);
      const known = { kind: "refused", reason: "unknown-schema", error } as const;
      this.#unknown.put(ref, { known, characters: 0, untilMs: nowMs + UNKNOWN_FOR_MS });
      return true;
    }
    if (lookup.kind === "found") this.#watchForChange(ref, lookup.schema);
    const characters = lookup.kind === "found" ? charactersOf(lookup.schema) : 0;
    const known = this.#compiled(lookup);
    this.#known.put(ref, { known, characters, untilMs: Number.POSITIVE_INFINITY });
    return true;
  }

  #compiled(lookup: Extract<Lookup, { readonly kind: "found" | "unusable" }>): KnownSchema {
    if (lookup.kind === "unusable") {
      return { kind: "refused", reason: "undecodable", error: lookup.error };
    }
    try {
      return this.#deps.compile(lookup.schema);
    } catch (error) {
      // An error here is a bug in Switchyard. It must not end the process, because the process would read the schema
      // again after a restart.
      const { message } = asError(error);
      return {
        kind: "refused",
        reason: "undecodable",
        error: `its schema cannot be read: ${message}`,
      };
    }
  }

  /** Reports a schema that changed under its ID, which happens only if the registry was recreated or replaced. */
  #watchForChange(ref: SchemaRef, schema: FoundSchema): void {
    const hash = createHash("sha256").update(JSON.stringify(schema)).digest("base64");
    const before = this.#hashes.get(ref);
    if (before !== undefined && before !== hash) {
      const error =
        "the registry returns a different schema for an ID than before, so values that were " +
        "written with the old schema may be read incorrectly; check registry.url, and whether " +
        "the registry was recreated";
      this.#deps.log.error({ schema: ref, error }, "registry.schema.changed");
    }
    if (this.#hashes.size >= HASHES_MAX && before === undefined) this.#hashes.clear();
    this.#hashes.set(ref, hash);
  }

  #report(line: OutageLine | null, error: string): void {
    if (line === null) return;
    const { msg, unreachableForMs } = line;
    const { log } = this.#deps;
    if (msg === "registry.reachable") log.info({ unreachableForMs }, msg);
    else log.warn({ unreachableForMs, waiting: this.#inFlight.size, error }, msg);
  }
}

function unavailableText(ref: SchemaRef, error: string): string {
  const forS = PATIENCE_MS / 1_000;
  return `the schema registry has not returned schema ${ref} for ${forS} s, although it responds to other lookups: ${error}`;
}

function charactersOf({ text, references }: FoundSchema): number {
  return references.reduce((sum, reference) => sum + reference.text.length, text.length);
}

/** Runs a limited number of tasks at once, and queues the others. */
export class ConcurrencyLimit {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Null if the signal had aborted before the task could start. */
  async during<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | null> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return signal.aborted ? null : await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 10_000;
const DOUBLINGS_MAX = 10;

/**
 * Returns the time after which a schema is requested again.
 *
 * @param failures number of consecutive lookups of the schema that got no response.
 * @param chance a random number, at least 0 and less than 1. It shortens the wait by up to half, so that processes do not send their
 * requests at the same time.
 */
function retryDelayMs(failures: number, chance: number): number {
  const wholeMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(failures, DOUBLINGS_MAX));
  return wholeMs * (1 - chance / 2);
}

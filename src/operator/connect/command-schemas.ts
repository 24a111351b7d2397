/**
 * Gets schemas from the registry for a command. Each schema is requested only once. The command does not wait.
 *
 *   the registry                                   a value with the schema
 *   returns the schema, or does not have it        is read as in stages
 *   does not return only this schema               counts as unknown-schema
 *   is unreachable                                 is reported; no more schemas are requested
 *   is not configured                              is unknown-schema, as in stages
 */

import { type Frame, frameOf } from "../../domain/framing.ts";
import type { KnownSchema, SchemaRef } from "../../domain/known-schemas.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { FoundSchema, RegistryConnection, SchemaSource } from "../../registry/port.ts";
import { givenSchema } from "../../router/stage/await-schemas.ts";

export interface CommandRegistry {
  /** The registry client, which is closed together with the schemas. */
  readonly source: SchemaSource;
  readonly compile: (schema: FoundSchema) => KnownSchema;
}

/** A schema, or the reason why it could not be requested. */
export type AskedSchema = KnownSchema | { readonly kind: "outage"; readonly error: string };

/** The caller closes the result. @param connection null if no registry is configured. */
export async function openCommandSchemas(
  connection: RegistryConnection | null,
  signal: AbortSignal,
): Promise<CommandSchemas> {
  if (connection === null) return new CommandSchemas(null, signal);
  const { createSchemaSource } = await import("../../registry/client.ts");
  const { compileSchema } = await import("../../registry/compile.ts");
  const registry = { source: createSchemaSource(connection), compile: compileSchema };
  return new CommandSchemas(registry, signal);
}

export class CommandSchemas implements AsyncDisposable {
  readonly #registry: CommandRegistry | null;
  readonly #signal: AbortSignal;
  readonly #known = new Map<SchemaRef, AskedSchema>();
  #outage: string | null = null;

  /** @param registry null if no registry is configured. */
  constructor(registry: CommandRegistry | null, signal: AbortSignal) {
    this.#registry = registry;
    this.#signal = signal;
  }

  /** The frame of a value; null if the value has none. */
  of(record: IncomingRecord): Exclude<Frame, { kind: "none" }> | null {
    const frame = record.value === null ? null : frameOf(record.value, record);
    return frame?.kind === "none" ? null : frame;
  }

  /** Returns the record as stages get it, or a sentence with the reason if the registry is unavailable. */
  async given(record: IncomingRecord): Promise<IncomingRecord | string> {
    if (this.#registry === null) return record;
    const ref = givenSchema(record, () => null);
    if (typeof ref === "object") return ref;
    const known = await this.ask(ref);
    if (known.kind === "outage") return known.error;
    const given = givenSchema(record, () => known);
    return typeof given === "object" ? given : record;
  }

  async ask(ref: SchemaRef): Promise<AskedSchema> {
    const before = this.#known.get(ref);
    if (before !== undefined) return before;
    if (this.#outage !== null) return { kind: "outage", error: this.#outage };
    const known = await this.#lookup(ref);
    if (known.kind === "outage") this.#outage = known.error;
    else this.#known.set(ref, known);
    return known;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#registry?.source[Symbol.asyncDispose]();
  }

  async #lookup(ref: SchemaRef): Promise<AskedSchema> {
    if (this.#registry === null) {
      return { kind: "outage", error: "no schema registry is configured (registry.url)" };
    }
    const { source, compile } = this.#registry;
    const answer = await source.lookup(ref, this.#signal);
    switch (answer.kind) {
      case "found":
        return compile(answer.schema);
      case "unknown":
      case "unavailable":
        return { kind: "refused", reason: "unknown-schema", error: answer.error };
      case "unusable":
        return { kind: "refused", reason: "undecodable", error: answer.error };
      case "outage":
        return answer;
    }
  }
}

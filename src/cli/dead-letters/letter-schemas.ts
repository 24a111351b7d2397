/**
 * Reads the values of dead letters that have a schema of the registry, for the message id in them.
 *
 *   the letter                                 is                        counted
 *   says its message id in a header, has no    as it was                 no
 *     value, or one without a schema
 *   has a value whose schema is found          with the schema           no
 *   has one that no value can be read by, or   as it was: its message    with the reason
 *     that the registry does not know          id is not known
 *   has one, and the registry is away          the same                  the same
 *
 * Each schema is asked for once. After an outage nothing is asked any more: a command does not wait
 * for a registry, and whatever it finds it finds at once.
 */

import type { LetterFilter } from "../../dead-letter/filter.ts";
import type { Letter } from "../../dead-letter/letter.ts";
import { frameOf } from "../../domain/framing.ts";
import type { KnownSchema, SchemaRef } from "../../domain/known-schemas.ts";
import { withSchema } from "../../domain/record.ts";
import { visibleLines } from "../../domain/visible.ts";
import type { RegistryConnection } from "../../registry/connection.ts";
import type { FoundSchema, SchemaSource } from "../../registry/port.ts";
import type { Shell } from "../shell.ts";

export interface LetterRegistry {
  /** Closed with the schemas. */
  readonly source: SchemaSource;
  readonly compile: (schema: FoundSchema) => KnownSchema;
}

/** A sentence where there is none. */
type Known = KnownSchema | { readonly kind: "outage"; readonly error: string };

/** The caller closes it. Without a registry in the configuration letters are as they were. */
export async function openLetterSchemas(
  connection: RegistryConnection | null,
  signal: AbortSignal,
): Promise<LetterSchemas> {
  if (connection === null) return new LetterSchemas(null, signal);
  const { createSchemaSource } = await import("../../registry/client.ts");
  const { compileSchema } = await import("../../registry/compile.ts");
  return new LetterSchemas(
    { source: createSchemaSource(connection), compile: compileSchema },
    signal,
  );
}

export class LetterSchemas implements AsyncDisposable {
  readonly #registry: LetterRegistry | null;
  readonly #signal: AbortSignal;
  readonly #known = new Map<SchemaRef, Known>();
  #outage: string | null = null;
  /** By sentence: letters whose message id is not known. */
  readonly #unread = new Map<string, number>();

  /** @param registry null: none is configured. */
  constructor(registry: LetterRegistry | null, signal: AbortSignal) {
    this.#registry = registry;
    this.#signal = signal;
  }

  /** The letter with the schema of its value, if it takes one to know its message id. */
  readonly read = (letter: Letter): Letter | Promise<Letter> => {
    const { record, messageId } = letter;
    if (messageId !== null || record.value === null) return letter;
    const frame = frameOf(record.value, record);
    return frame.kind === "framed" ? this.#readBy(letter, frame.ref, frame.start) : letter;
  };

  /** Says of how many letters the message id is not known, and why. */
  tell(shell: Shell, { messageIds }: Pick<LetterFilter, "messageIds">): void {
    const leftOut = messageIds.length === 0 ? "" : ", and left out";
    for (const [why, count] of this.#unread) {
      const letters = `dead letter${count === 1 ? "" : "s"}`;
      shell.err(
        `Message id not known${leftOut}: ${count.toLocaleString("en")} ${letters}: ${visibleLines(why)}\n`,
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#registry?.source[Symbol.asyncDispose]();
  }

  async #readBy(letter: Letter, ref: SchemaRef, start: number): Promise<Letter> {
    const known = await this.#schema(ref);
    if (known.kind === "schema") {
      return { ...letter, record: withSchema(letter.record, { ref, known, start }) };
    }
    this.#unread.set(known.error, (this.#unread.get(known.error) ?? 0) + 1);
    return letter;
  }

  async #schema(ref: SchemaRef): Promise<Known> {
    const before = this.#known.get(ref);
    if (before !== undefined) return before;
    if (this.#outage !== null) return { kind: "outage", error: this.#outage };
    const known = await this.#lookUp(ref);
    if (known.kind === "outage") this.#outage = known.error;
    else this.#known.set(ref, known);
    return known;
  }

  async #lookUp(ref: SchemaRef): Promise<Known> {
    if (this.#registry === null) {
      return { kind: "outage", error: "no schema registry is configured (registry.url)" };
    }
    const { source, compile } = this.#registry;
    const answer = await source.lookUp(ref, this.#signal);
    switch (answer.kind) {
      case "found":
        return compile(answer.schema);
      case "unknown":
        return { kind: "refused", reason: "unknown-schema", error: answer.error };
      case "unusable":
        return { kind: "refused", reason: "undecodable", error: answer.error };
      case "outage":
        return answer;
    }
  }
}

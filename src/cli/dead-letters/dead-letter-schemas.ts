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
 * Schemas are asked for as commands do (`command-schemas.ts`).
 */

import type { Letter } from "../../dead-letter/dead-letter-record.ts";
import type { LetterFilter } from "../../dead-letter/filter.ts";
import { visibleLines } from "../../domain/escape-control.ts";
import { withSchema } from "../../domain/record.ts";
import type { RegistryConnection } from "../../registry/connection.ts";
import { type CommandSchemas, openCommandSchemas } from "../command-schemas.ts";
import type { Shell } from "../shell.ts";

/** The caller closes it. Without a registry in the configuration letters are as they were. */
export async function openLetterSchemas(
  connection: RegistryConnection | null,
  signal: AbortSignal,
): Promise<LetterSchemas> {
  return new LetterSchemas(await openCommandSchemas(connection, signal));
}

export class LetterSchemas implements AsyncDisposable {
  readonly #schemas: CommandSchemas;
  /** By sentence: letters whose message id is not known. */
  readonly #unread = new Map<string, number>();

  constructor(schemas: CommandSchemas) {
    this.#schemas = schemas;
  }

  /** The letter with the schema of its value, if it takes one to know its message id. */
  readonly read = (letter: Letter): Letter | Promise<Letter> => {
    const { record, messageId } = letter;
    if (messageId !== null || this.#schemas.of(record) === null) return letter;
    return this.#readBy(letter);
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
    await this.#schemas[Symbol.asyncDispose]();
  }

  async #readBy(letter: Letter): Promise<Letter> {
    const frame = this.#schemas.of(letter.record);
    if (frame === null) return letter;
    const { ref, start } = frame;
    const known = await this.#schemas.ask(ref);
    if (known.kind === "schema") {
      return { ...letter, record: withSchema(letter.record, { ref, known, start }) };
    }
    this.#unread.set(known.error, (this.#unread.get(known.error) ?? 0) + 1);
    return letter;
  }
}

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

import { visibleLines } from "../../domain/escape-control.ts";
import { withSchema } from "../../domain/record.ts";
import type { RegistryConnection } from "../../registry/port.ts";
import { type CommandSchemas, openCommandSchemas } from "../connect/command-schemas.ts";
import type { Shell } from "../connect/shell.ts";
import type { DeadLetter, DeadLetterFilter } from "./dead-letter-record.ts";

/** The caller closes it. Without a registry in the configuration letters are as they were. */
export async function openDeadLetterSchemas(
  connection: RegistryConnection | null,
  signal: AbortSignal,
): Promise<DeadLetterSchemas> {
  return new DeadLetterSchemas(await openCommandSchemas(connection, signal));
}

export class DeadLetterSchemas implements AsyncDisposable {
  readonly #schemas: CommandSchemas;
  /** By sentence: letters whose message id is not known. */
  readonly #unread = new Map<string, number>();

  constructor(schemas: CommandSchemas) {
    this.#schemas = schemas;
  }

  /** The letter with the schema of its value, if it takes one to know its message id. */
  readonly read = (deadLetter: DeadLetter): DeadLetter | Promise<DeadLetter> => {
    const { record, messageId } = deadLetter;
    if (messageId !== null || this.#schemas.of(record) === null) return deadLetter;
    return this.#readBy(deadLetter);
  };

  /** Says of how many letters the message id is not known, and why. */
  tell(shell: Shell, { messageIds }: Pick<DeadLetterFilter, "messageIds">): void {
    for (const [why, count] of this.#unread) {
      const deadLetters = `dead letter${count === 1 ? "" : "s"}`;
      const were = count === 1 ? "it was" : "they were";
      const skipped = messageIds.length === 0 ? "" : `, so ${were} skipped`;
      shell.err(
        `The message ID of ${count.toLocaleString("en")} ${deadLetters} is unknown${skipped}: ${visibleLines(why)}\n`,
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#schemas[Symbol.asyncDispose]();
  }

  async #readBy(deadLetter: DeadLetter): Promise<DeadLetter> {
    const frame = this.#schemas.of(deadLetter.record);
    if (frame === null) return deadLetter;
    const { ref, start } = frame;
    const known = await this.#schemas.ask(ref);
    if (known.kind === "schema") {
      return { ...deadLetter, record: withSchema(deadLetter.record, { ref, known, start }) };
    }
    this.#unread.set(known.error, (this.#unread.get(known.error) ?? 0) + 1);
    return deadLetter;
  }
}

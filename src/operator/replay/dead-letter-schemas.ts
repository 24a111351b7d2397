/**
 * Reads the values of dead letters whose schema is in the registry, to find the message IDs and the users.
 *
 *   the dead letter                                  result                       counted
 *   has a message ID in a header, no value, or a     unchanged                    no
 *     value without a schema
 *   has a value whose schema is found                with the schema              no
 *   has a schema that cannot be used or that the     unchanged: its message ID    yes, with the reason
 *     registry does not have                         is unknown
 *   has a schema, and the registry is unreachable    the same                     the same
 *
 * Schemas are requested in the same way as by other commands (`command-schemas.ts`).
 */

import { visibleLines } from "../../domain/escape-control.ts";
import { withSchema } from "../../domain/record.ts";
import type { RegistryConnection } from "../../registry/port.ts";
import { type CommandSchemas, openCommandSchemas } from "../connect/command-schemas.ts";
import type { Shell } from "../connect/shell.ts";
import type { DeadLetter, DeadLetterFilter } from "./dead-letter-record.ts";

/** The caller closes the result. If no registry is configured, dead letters are returned unchanged. */
export async function openDeadLetterSchemas(
  connection: RegistryConnection | null,
  signal: AbortSignal,
): Promise<DeadLetterSchemas> {
  return new DeadLetterSchemas(await openCommandSchemas(connection, signal));
}

export class DeadLetterSchemas implements AsyncDisposable {
  readonly #schemas: CommandSchemas;
  /** The number of dead letters whose message ID is unknown, by reason. */
  readonly #unread = new Map<string, number>();

  constructor(schemas: CommandSchemas) {
    this.#schemas = schemas;
  }

  /** Returns the dead letter. If the schema of the value is needed to read the call, the schema is included. */
  readonly read = (deadLetter: DeadLetter): DeadLetter | Promise<DeadLetter> => {
    const { record, messageId } = deadLetter;
    if (messageId !== null || this.#schemas.of(record)?.kind !== "framed") return deadLetter;
    return this.#readBy(deadLetter);
  };

  /** Prints how many dead letters have an unknown message ID, and why. */
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
    if (frame?.kind !== "framed") return deadLetter;
    const { ref, start } = frame;
    const known = await this.#schemas.ask(ref);
    if (known.kind === "schema") {
      return { ...deadLetter, record: withSchema(deadLetter.record, { ref, known, start }) };
    }
    this.#unread.set(known.error, (this.#unread.get(known.error) ?? 0) + 1);
    return deadLetter;
  }
}

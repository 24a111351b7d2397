/**
 * A source of schemas by the connection of the moment: URLs, passwords and TLS files change while
 * the program runs.
 *
 *   the connection                        a look-up
 *   is as before                          asks the same source
 *   has changed                           asks a new one; the old one is closed, and what it was asked
 *                                         is an outage, after which the caller asks again
 *   has TLS files that cannot be used     is an outage
 */

import type { RegistryConnection } from "./connection.ts";
import type { SchemaSource } from "./port.ts";

/**
 * @param create as `createSchemaSource`.
 * @throws Error when the TLS files of the first connection cannot be used.
 */
export function currentSource(
  connection: () => RegistryConnection,
  create: (connection: RegistryConnection) => SchemaSource,
): SchemaSource {
  const first = connection();
  let source = create(first);
  let known = JSON.stringify(first);
  return {
    lookUp: async (ref, signal) => {
      const now = connection();
      const text = JSON.stringify(now);
      if (text !== known) {
        try {
          const next = create(now);
          const old = source;
          [source, known] = [next, text];
          await old[Symbol.asyncDispose]();
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          return { kind: "outage", error: `the registry's TLS files cannot be used: ${why}` };
        }
      }
      return await source.lookUp(ref, signal);
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

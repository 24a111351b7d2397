/** Schemas for commands, from a registry whose responses a test sets. */

import type { SchemaRef } from "../../../src/domain/known-schemas.ts";
import { CommandSchemas } from "../../../src/operator/connect/command-schemas.ts";
import { compileSchema } from "../../../src/registry/compile.ts";
import type { Lookup } from "../../../src/registry/port.ts";

export function scriptedSchemas(respond: (ref: SchemaRef) => Lookup): CommandSchemas {
  const source = {
    lookup: (ref: SchemaRef) => Promise.resolve(respond(ref)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return new CommandSchemas({ source, compile: compileSchema }, new AbortController().signal);
}

/** @param schema Avro, as JSON */
export function foundSchema(schema: unknown): Lookup {
  return { kind: "found", schema: { type: "AVRO", text: JSON.stringify(schema), references: [] } };
}

/**
 * Compiles a schema from the registry into a reader of values.
 *
 *   type         values
 *   AVRO         are read with the schema
 *   JSON         are already JSON, and are used without validation
 *   PROTOBUF     are rejected, with the name of the type
 *   any other    are rejected, with the name of the type
 */

import { describe } from "../domain/json.ts";
import type { KnownSchema } from "../domain/known-schemas.ts";
import { compileAvro } from "./avro/reader.ts";
import type { FoundSchema } from "./port.ts";

/** Never throws: a schema that cannot be used results in `refused`. */
export function compileSchema(schema: FoundSchema): KnownSchema {
  const { type } = schema;
  switch (type) {
    case "AVRO": {
      const compiled = compileAvro([...schema.references, schema]);
      if (compiled.kind === "refused") return refused(compiled.error);
      return { kind: "schema", read: compiled.read, hasNulls: true };
    }
    case "JSON":
      return { kind: "schema", read: (bytes) => ({ kind: "json", bytes }) };
    case "PROTOBUF":
      return refused("the value is Protobuf, which is not supported");
    default:
      return refused(`the value's schema has the type ${describe(type)}, which is not supported`);
  }
}

function refused(error: string): KnownSchema {
  return { kind: "refused", reason: "undecodable", error };
}

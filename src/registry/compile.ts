/**
 * A schema as the registry has it, to one by which values are read.
 *
 *   type         values
 *   AVRO         are read by it
 *   JSON         are the JSON that they are; they are not checked against it
 *   PROTOBUF     refused by name
 *   any other    refused by name
 */

import { describe } from "../domain/json.ts";
import type { KnownSchema } from "../domain/known-schemas.ts";
import { compileAvro } from "./avro/reader.ts";
import type { FoundSchema } from "./port.ts";

/** Never throws: a schema by which nothing can be read is `refused`. */
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
      return refused("the value is Protobuf, which is not read");
    default:
      return refused(`the value's schema has the type ${describe(type)}, which is not read`);
  }
}

function refused(error: string): KnownSchema {
  return { kind: "refused", reason: "undecodable", error };
}

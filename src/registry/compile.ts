/** A schema as the registry has it, to one by which values are read. */

import type { KnownSchema } from "../domain/known-schemas.ts";
import type { FoundSchema } from "./port.ts";

/** Never throws: a schema that nothing can be read by is `refused`. */
export function compileSchema(found: FoundSchema): KnownSchema {
  const { type } = found;
  if (type === "JSON") return { kind: "schema", read: (bytes) => ({ kind: "json", bytes }) };
  return { kind: "refused", reason: "undecodable", error: `values of type ${type} are not read` };
}

/** Turns an Avro schema into a reader of values. */

import type { ReadBySchema, ReadValue } from "../../domain/known-schemas.ts";
import { copyOf } from "./copies.ts";
import type { Copy } from "./copy-logical.ts";
import { UnreadableError } from "./json-output.ts";
import { typeOf } from "./resolve-schema.ts";
import { readSchemas, type SchemaText, UnusableSchemaError } from "./schema-text.ts";
import { Transcript } from "./transcript.ts";

type CompiledAvro =
  | { readonly kind: "reader"; readonly read: ReadBySchema }
  /** One sentence. */
  | { readonly kind: "refused"; readonly error: string };

/** Values are read one at a time, so one transcript is enough. */
const transcript = new Transcript();

/** Never throws. @param texts the schemas to which the schema refers, followed by the schema itself. */
export function compileAvro(texts: readonly SchemaText[]): CompiledAvro {
  let copy: Copy;
  try {
    copy = copyOf(typeOf(readSchemas(texts)));
  } catch (error) {
    const isKnown = error instanceof UnusableSchemaError;
    return { kind: "refused", error: isKnown ? error.message : "the schema cannot be used" };
  }
  return { kind: "reader", read: (bytes) => readValue(copy, bytes) };
}

function readValue(copy: Copy, bytes: Buffer): ReadValue {
  transcript.begin(bytes);
  try {
    copy(transcript);
    return { kind: "json", bytes: transcript.end() };
  } catch (error) {
    transcript.drop();
    // Other errors are not expected, but one value must not prevent the others from being read.
    const message = error instanceof UnreadableError ? error.message : "the value cannot be read";
    return { kind: "refused", error: message };
  }
}

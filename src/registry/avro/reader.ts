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

const NAMES_SHOWN_MAX = 3;

/** Values are read one at a time, so one transcript is enough. */
const transcript = new Transcript();

/** Never throws. @param texts the schemas to which the schema refers, followed by the schema itself. */
export function compileAvro(texts: readonly SchemaText[]): CompiledAvro {
  let copy: Copy;
  let note = "";
  try {
    const { schemas, ambiguous } = readSchemas(texts);
    copy = copyOf(typeOf(schemas));
    if (ambiguous.size > 0) note = noteOf([...ambiguous].slice(0, NAMES_SHOWN_MAX).join(", "));
  } catch (error) {
    const isKnown = error instanceof UnusableSchemaError;
    return { kind: "refused", error: isKnown ? error.message : "the schema cannot be used" };
  }
  return { kind: "reader", read: (bytes) => readValue(copy, bytes, note) };
}

/** With such references, the serializers for Java and Python write different bytes for the same schema ID. */
function noteOf(names: string): string {
  return (
    `; its schema's references define ${names} in different ways, and Switchyard uses the first definition, like ` +
    "Confluent's serializers for Java, while those for Python use the last: use one version of each reference"
  );
}

function readValue(copy: Copy, bytes: Buffer, note: string): ReadValue {
  transcript.begin(bytes);
  try {
    copy(transcript);
    return { kind: "json", bytes: transcript.end() };
  } catch (error) {
    transcript.drop();
    // Other errors are not expected, but one value must not prevent the others from being read.
    const message = error instanceof UnreadableError ? error.message : "the value cannot be read";
    return { kind: "refused", error: `${message}${note}` };
  }
}

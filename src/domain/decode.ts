/**
 * Decodes the bytes of a value to JSON.
 *
 *   value                                      result
 *   absent (a tombstone)                       undecodable
 *   its schema was looked up, and
 *     is unknown to the registry               unknown-schema
 *     cannot be used to read values            undecodable
 *     does not match the value                 undecodable
 *     matches the value                        the JSON that its reader returns
 *   a byte-order mark, then JSON               the JSON
 *   JSON                                       the JSON
 *   has a schema (`framing.ts`), and no        unknown-schema
 *     registry is configured
 *   has a frame that is not supported          undecodable
 *   not UTF-8                                  undecodable
 *   not JSON                                   undecodable
 *
 * Invalid UTF-8 is an error, also in values with a schema, because replacement characters would silently alter
 * customer data.
 */

import { withExactIds } from "./exact-ids.ts";
import { frameOf, type RefusedValue, refused } from "./framing.ts";
import type { IncomingRecord } from "./record.ts";

export type DecodedValue =
  | {
      readonly kind: "json";
      /** The decoded value. IDs at its top level keep all digits that were sent (`exact-ids.ts`). */
      readonly json: unknown;
      /** The text from which the value was read. */
      readonly text: string;
      /** The same text in UTF-8. */
      readonly bytes: Buffer;
    }
  | RefusedValue;

/** The parts of a record that are needed to read its value. */
export type RecordValue = Pick<IncomingRecord, "value" | "headers" | "eachHeader" | "schema">;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

export function decodeValue(record: RecordValue): DecodedValue {
  const { value, schema } = record;
  if (value === null) return refused("undecodable", "the record has no value");
  if (schema === undefined) return withoutSchema(value, record);
  const { known } = schema;
  if (known.kind === "refused") return known;
  const read = known.read(value.subarray(schema.start));
  if (read.kind === "json") return parsed(read.bytes);
  return refused("undecodable", `${read.error} (schema ${schema.ref})`);
}

/** Nearly all values are JSON, so only values that are not JSON are checked for a frame. */
function withoutSchema(value: Buffer, record: RecordValue): DecodedValue {
  const decoded = parsed(value);
  if (decoded.kind === "json") return decoded;
  const frame = frameOf(value, record);
  if (frame.kind === "none") return decoded;
  if (frame.kind === "refused") return frame;
  return refused(
    "unknown-schema",
    `the value has schema ${frame.ref}, and no schema registry is configured`,
  );
}

function parsed(bytes: Buffer): DecodedValue {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return refused("undecodable", "the value is not UTF-8");
  }
  try {
    return { kind: "json", json: withExactIds(JSON.parse(text), text, bytes), text, bytes };
  } catch (error) {
    return refused("undecodable", `the value is not JSON${place(error)}`);
  }
}

/** Returns only the position from V8's error message, because the rest of the message quotes the value. */
function place(error: unknown): string {
  const position = error instanceof Error ? / at position (\d+)/.exec(error.message) : null;
  return position === null ? "" : `, at character ${position[1]}`;
}

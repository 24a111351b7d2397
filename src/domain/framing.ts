/**
 * Finds out which schema of the registry a value has. If a header names the schema, the value's first bytes are not
 * examined, because such a value has no frame.
 *
 *   the header __value_schema_id               the value
 *   byte 0 and a 4-byte ID                     has that schema, and no frame
 *   byte 1 and a 16-byte GUID                  has that schema, and no frame
 *   any other content                          undecodable
 *   absent or Kafka's null, but Apicurio's     undecodable: Apicurio's own serializers name the schema
 *     header names a schema, and the value     in a header
 *     does not start with {
 *   otherwise                                  the next table decides
 *
 *   the value starts with                      it
 *   byte 0 and a 4-byte ID                     has that schema
 *   byte 0 and fewer bytes                     unknown-schema
 *   byte 0 and the ID 0                        undecodable: registries start at 1, so this is an
 *                                              8-byte ID, as Apicurio's own serializers write it
 *   byte 0 and an ID from 2^31                 undecodable: IDs are positive
 *   byte 3, then 0 or 5, and 16 bytes          undecodable: AWS Glue's frame
 *   anything else                              is not framed
 *
 * IDs are big-endian. JSON does not start with any of these bytes.
 */

import type { SchemaRef } from "./known-schemas.ts";
import { eachHeader, type RecordHeaders, type VisitHeader, type WithHeaders } from "./record.ts";
import { uuidText } from "./uuid.ts";

export const SCHEMA_HEADER = "__value_schema_id";
const APICURIO_HEADERS: ReadonlySet<string> = new Set([
  "apicurio.value.globalId",
  "apicurio.value.contentId",
]);
const JSON_OBJECT = 0x7b;

export type Frame =
  | { readonly kind: "none" }
  /** The content of the value, after its frame, starts at `start`. */
  | { readonly kind: "framed"; readonly ref: SchemaRef; readonly start: number }
  | RefusedValue;

export interface RefusedValue {
  readonly kind: "refused";
  readonly reason: "undecodable" | "unknown-schema";
  /** One sentence that does not quote the value. */
  readonly error: string;
}

const NONE: Frame = { kind: "none" };
const ID_BYTES = 4;
const FRAME_BYTES = 1 + ID_BYTES;
const GUID_BYTES = 16;
const GLUE_BYTES = 2 + 16;

export function frameOf(value: Buffer, record: WithHeaders): Frame {
  const { header, apicurio } = schemaHeaders(record);
  if (header !== null) return frameOfHeader(header);
  // If a header names the schema, the value has no frame, but may nevertheless start with byte 0.
  if (apicurio === null || value[0] === JSON_OBJECT) return frameOfBytes(value);
  return refused(
    "undecodable",
    `the schema ID is in the header ${apicurio}, and this format of Apicurio's own serializers ` +
      `is not supported; set the serializers to the Confluent format`,
  );
}

/** Removes the header that names a schema, for a value that no longer has a schema. */
export function withoutSchema(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => name !== SCHEMA_HEADER);
}

/** If a header is repeated, the last one counts. */
function schemaHeaders(record: WithHeaders) {
  [found, apicurioFound] = [null, null];
  eachHeader(record, tell);
  const [header, apicurio] = [found, apicurioFound] as [Buffer | null, string | null];
  [found, apicurioFound] = [null, null];
  return { header, apicurio };
}

let found: Buffer | null = null;
/** The name of Apicurio's header, if the record has one. */
let apicurioFound: string | null = null;

const tell: VisitHeader = (name, bytes, start, end) => {
  if (name === SCHEMA_HEADER) found = start < 0 ? null : bytes.subarray(start, end);
  else if (APICURIO_HEADERS.has(name)) apicurioFound = name;
};

function frameOfHeader(header: Buffer): Frame {
  const [version] = header;
  if (version === 0 && header.length === FRAME_BYTES) return framed(header, 0);
  if (version === 1 && header.length === 1 + GUID_BYTES) {
    return { kind: "framed", ref: uuidText(header.toString("hex", 1)), start: 0 };
  }
  const bytes = `${header.length} ${header.length === 1 ? "byte" : "bytes"}`;
  const begin = version === undefined ? "" : `, the first is ${version}`;
  return refused(
    "undecodable",
    `the header ${SCHEMA_HEADER} has ${bytes}${begin}; expected byte 0 and a 4-byte ID, or byte 1 and a 16-byte GUID`,
  );
}

function frameOfBytes(value: Buffer): Frame {
  if (value[0] === 0) {
    if (value.length >= FRAME_BYTES) return framed(value, FRAME_BYTES);
    return refused("unknown-schema", "the value starts with byte 0 but has no complete schema ID");
  }
  const isGlue = value[0] === 3 && (value[1] === 0 || value[1] === 5);
  if (!isGlue || value.length < GLUE_BYTES) return NONE;
  return refused(
    "undecodable",
    "the value has the frame of an AWS Glue registry, which is not supported",
  );
}

function framed(bytes: Buffer, start: number): Frame {
  const id = bytes.readUInt32BE(1);
  if (id === 0) {
    return refused(
      "undecodable",
      "the value has schema ID 0, which no registry assigns: 8-byte IDs, as written by Apicurio's own serializers, are not supported",
    );
  }
  if (id > 0x7fff_ffff) {
    return refused("undecodable", `the value has schema ID ${id}, but IDs end at 2147483647`);
  }
  return { kind: "framed", ref: id, start };
}

export function refused(reason: RefusedValue["reason"], error: string): RefusedValue {
  return { kind: "refused", reason, error };
}

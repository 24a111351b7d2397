/** Types for the schemas of a registry that are used to read values. */

/** The schema's ID, from 0 to 2^31 - 1, or its GUID, in lowercase hex with dashes. */
export type SchemaRef = number | string;

export type ReadValue =
  /** The content of the value as JSON. The bytes are valid UTF-8 if all strings in the value are. */
  | { readonly kind: "json"; readonly bytes: Buffer }
  /** One sentence, which does not contain any part of the value. */
  | { readonly kind: "refused"; readonly error: string };

/** Reads the bytes after the frame. Never throws. */
export type ReadBySchema = (bytes: Buffer) => ReadValue;

export type KnownSchema =
  | {
      readonly kind: "schema";
      readonly read: ReadBySchema;
      /** True if values with this schema contain a null for each optional field that is not set. */
      readonly hasNulls?: boolean;
    }
  /**
   * `unknown-schema`: the registry does not have the schema. `undecodable`: the registry has the schema, but it cannot
   * be used to read values, because of its format or size, or because it is corrupt. `error` is one sentence.
   */
  | {
      readonly kind: "refused";
      readonly reason: "unknown-schema" | "undecodable";
      readonly error: string;
    };

/** The schema of a record's value. It is looked up when the record arrives. */
export interface ValueSchema {
  readonly ref: SchemaRef;
  readonly known: KnownSchema;
  /** The index in the value at which its content starts, after the frame. */
  readonly start: number;
}

/** The schemas that this process has loaded. */
export interface KnownSchemas {
  /** Returns null if the schema has to be looked up first. */
  get(ref: SchemaRef): KnownSchema | null;
}

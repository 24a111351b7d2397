/** Schemas of a registry, as those see them who read values. */

/** Its id, from 0 to 2^31 - 1; or its GUID, in lower-case hex with dashes. */
export type SchemaRef = number | string;

/** A value read by its schema. */
export type ReadValue =
  /** The same content as JSON, in UTF-8 if the value's own texts are. */
  | { readonly kind: "json"; readonly bytes: Buffer }
  /** One sentence, without any of the value. */
  | { readonly kind: "refused"; readonly error: string };

/** The bytes are those after the frame. Never throws. */
export type ReadBySchema = (bytes: Buffer) => ReadValue;

export type KnownSchema =
  | {
      readonly kind: "schema";
      readonly read: ReadBySchema;
      /** Its values have a null for each optional field that is not set. */
      readonly hasNulls?: boolean;
    }
  /**
   * `unknown-schema`: the registry does not know it. `undecodable`: it knows it, and no value can be
   * read by it: another format, too large, damaged. One sentence.
   */
  | {
      readonly kind: "refused";
      readonly reason: "unknown-schema" | "undecodable";
      readonly error: string;
    };

/** The schema of a record's value, as it was looked up when the record came in. */
export interface ValueSchema {
  readonly ref: SchemaRef;
  readonly known: KnownSchema;
  /** Where the content of the value begins, behind its frame. */
  readonly start: number;
}

/** The schemas that this process knows now. */
export interface KnownSchemas {
  /** Null: it has to be looked up first. */
  get(ref: SchemaRef): KnownSchema | null;
}

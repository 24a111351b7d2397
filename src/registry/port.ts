/** All that the rest of the program knows of a schema registry. */

import type { KnownSchemas, SchemaRef } from "../domain/known-schemas.ts";

/** A schema as the registry has it. */
export interface FoundSchema {
  /** The registry says `AVRO`, `JSON` or `PROTOBUF`; others may come. */
  readonly type: string;
  readonly text: string;
  /** Schemas that it uses, those that others use first. */
  readonly references: readonly { readonly name: string; readonly text: string }[];
}

/** Errors are one sentence. */
export type LookUp =
  | { readonly kind: "found"; readonly schema: FoundSchema }
  /** The registry itself says so: its own 404, with its error code. */
  | { readonly kind: "unknown"; readonly error: string }
  /** Anything else: no answer, HTML, 401, 403, 5xx. Nothing is known then. */
  | { readonly kind: "outage"; readonly error: string };

/** Where schemas are looked up. The caller closes it. */
export interface SchemaSource extends AsyncDisposable {
  /** One request, or one to each of the URLs in turn. Never throws. */
  lookUp(ref: SchemaRef, signal: AbortSignal): Promise<LookUp>;
}

/** Looks schemas up and keeps them; shared by the stages of a process. The caller closes it. */
export interface Schemas extends KnownSchemas, AsyncDisposable {
  /**
   * Resolves when `get` answers for all of them: at once where it does, else after look-ups that
   * outlast outages. Rejects when the signal aborts.
   */
  ready(refs: readonly SchemaRef[], signal: AbortSignal): Promise<void>;
  /** Sentences for the body of `/readyz`. */
  readonly troubles: () => readonly string[];
}

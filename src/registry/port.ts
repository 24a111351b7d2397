/** All that the rest of the program knows of a schema registry. */

import type { KnownSchemas, SchemaRef } from "../domain/known-schemas.ts";
import type { TlsFiles } from "../http/tls.ts";
import type { ClientCredentials } from "../runtime/oauth-token.ts";
import type { SchemaText } from "./avro/schema-text.ts";

/** Of our subjects: a new schema reads all that any former one wrote. */
export const COMPATIBILITY = "BACKWARD_TRANSITIVE";

/** A schema as the registry has it. */
export interface FoundSchema extends SchemaText {
  /** The registry says `AVRO`, `JSON` or `PROTOBUF`; others may come. */
  readonly type: string;
  /** Schemas that it uses, those that others use first. */
  readonly references: readonly (SchemaText & { readonly name: string })[];
}

/** Errors are one sentence. */
export type Lookup =
  | { readonly kind: "found"; readonly schema: FoundSchema }
  /** The registry itself says so: its own 404, with its error code. */
  | { readonly kind: "unknown"; readonly error: string }
  /** The registry has it, and it is beyond our limits: no value is read by it, now or later. */
  | { readonly kind: "unusable"; readonly error: string }
  /** Anything else: no answer, HTML, 401, 403, 5xx. Nothing is known then. */
  | { readonly kind: "outage"; readonly error: string };

/** Where schemas are looked up. The caller closes it. */
export interface SchemaSource extends AsyncDisposable {
  /**
   * One request, or one to each of the URLs in turn; as much again for each schema that it uses.
   * Never throws: an aborted one is an outage.
   */
  lookup(ref: SchemaRef, signal: AbortSignal): Promise<Lookup>;
}

/** Looks schemas up and keeps them; shared by the stages of a process. The caller closes it. */
export interface Schemas extends KnownSchemas, AsyncDisposable {
  /**
   * Resolves when `get` has an answer for each of them: at once where it has, else after look-ups
   * that outlast outages. Rejects when the signal aborts.
   *
   * Answers do not stay for ever: unknown ones go after 10 s, others when many new ones come. So
   * a caller for whom `get` gives null later asks again.
   */
  ready(refs: readonly SchemaRef[], signal: AbortSignal): Promise<void>;
  /** Sentences for the body of `/readyz`. */
  readonly healthProblems: () => readonly string[];
}

/** How to reach a schema registry. `cli` hands it in: this folder does not know the configuration. */
export interface RegistryConnection {
  /** Complete URLs, with or without a path; at least one. The next one is asked when one does not answer. */
  readonly urls: readonly string[];
  /** Null: none. */
  readonly authentication: RegistryAuthentication | null;
  /** Null: the public roots, and no certificate of ours. */
  readonly tls: TlsFiles | null;
}

type RegistryAuthentication =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | ({ readonly kind: "oauth" } & ClientCredentials);

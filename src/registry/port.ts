/** The interface of a schema registry to the rest of the program. */

import type { TlsFiles } from "../base/http/tls.ts";
import type { ClientCredentials } from "../base/runtime/oauth-token.ts";
import type { KnownSchemas, SchemaRef } from "../domain/known-schemas.ts";
import type { SchemaText } from "./avro/schema-text.ts";

/** The compatibility of Switchyard's subjects: a new schema can read all values that were written with earlier ones. */
export const COMPATIBILITY = "BACKWARD_TRANSITIVE";

export interface FoundSchema extends SchemaText {
  /** The registry returns `AVRO`, `JSON` or `PROTOBUF`; other values are possible. */
  readonly type: string;
  /** The schemas that this schema uses; each schema comes before those that use it. */
  readonly references: readonly (SchemaText & { readonly name: string })[];
}

/** Errors are one sentence. */
export type Lookup =
  | { readonly kind: "found"; readonly schema: FoundSchema }
  /** The registry itself reports that the schema does not exist: a 404 with one of its error codes. */
  | { readonly kind: "unknown"; readonly error: string }
  /** The registry has the schema, but the schema exceeds our limits, so no value can be read with it. */
  | { readonly kind: "unusable"; readonly error: string }
  /** Any other response or none, although the registry responds to other lookups. */
  | { readonly kind: "unavailable"; readonly error: string }
  /** The registry does not respond to any lookup, or rejects the credentials. It is unknown whether the schema exists. */
  | { readonly kind: "outage"; readonly error: string };

/** Looks up schemas. The caller closes it. */
export interface SchemaSource extends AsyncDisposable {
  /**
   * Sends the request to one URL after another until one of them responds, and does the same for each schema that the
   * schema uses. Never throws: an aborted lookup is an outage.
   */
  lookup(ref: SchemaRef, signal: AbortSignal): Promise<Lookup>;
}

/** Looks up schemas and caches them; shared by the stages of a process. The caller closes it. */
export interface Schemas extends KnownSchemas, AsyncDisposable {
  /**
   * Resolves when `get` has a result for each of the schemas: immediately, or after lookups, which are retried during
   * outages, and for 30 s if the registry does not return only this schema. Rejects when the signal aborts.
   *
   * Results expire: `unknown` after 10 s, other results when many new ones are added. If `get` then returns null, call
   * this again.
   */
  ready(refs: readonly SchemaRef[], signal: AbortSignal): Promise<void>;
  /** Resolves after one lookup of the schema, whatever its result. Rejects when the signal aborts. */
  request(ref: SchemaRef, signal: AbortSignal): Promise<void>;
  /** Sentences for the body of `/readyz`. */
  readonly healthProblems: () => readonly string[];
}

/**
 * How to reach a schema registry. Callers pass this in, because the code in this folder does not depend on the
 * configuration.
 */
export interface RegistryConnection {
  /** Complete URLs, with or without a path; at least one. If a URL does not respond, the next one is used. */
  readonly urls: readonly string[];
  /** Null for no authentication. */
  readonly authentication: RegistryAuthentication | null;
  /** Null for the public root certificates, and no client certificate. */
  readonly tls: TlsFiles | null;
}

type RegistryAuthentication =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | ({ readonly kind: "oauth" } & ClientCredentials);

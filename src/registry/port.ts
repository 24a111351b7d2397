/** What the rest of the program uses of a schema registry. */

import type { KnownSchemas, SchemaRef } from "../domain/known-schemas.ts";
import type { TlsFiles } from "../http/tls.ts";
import type { ClientCredentials } from "../runtime/oauth-token.ts";
import type { SchemaText } from "./avro/schema-text.ts";

/** For our subjects: a new schema reads everything that earlier ones wrote. */
export const COMPATIBILITY = "BACKWARD_TRANSITIVE";

/** A schema as the registry returns it. */
export interface FoundSchema extends SchemaText {
  /** The registry returns `AVRO`, `JSON` or `PROTOBUF`; other values are possible. */
  readonly type: string;
  /** Schemas that it uses, those that others use first. */
  readonly references: readonly (SchemaText & { readonly name: string })[];
}

/** Errors are one sentence. */
export type Lookup =
  | { readonly kind: "found"; readonly schema: FoundSchema }
  /** The registry itself reports this: its own 404, with its error code. */
  | { readonly kind: "unknown"; readonly error: string }
  /** The registry has it, but it exceeds our limits: it never reads a value. */
  | { readonly kind: "unusable"; readonly error: string }
  /** Anything else: no response, HTML, 401, 403, 5xx. Nothing is known about the schema. */
  | { readonly kind: "outage"; readonly error: string };

/** Looks up schemas. The caller closes it. */
export interface SchemaSource extends AsyncDisposable {
  /**
   * One request, or one to each of the URLs in turn; the same again for each schema that it uses.
   * Never throws: an aborted lookup is an outage.
   */
  lookup(ref: SchemaRef, signal: AbortSignal): Promise<Lookup>;
}

/** Looks up schemas and caches them; shared by the stages of a process. The caller closes it. */
export interface Schemas extends KnownSchemas, AsyncDisposable {
  /**
   * Resolves when `get` has a result for each of them: immediately, or after lookups that outlast
   * outages. Rejects when the signal aborts.
   *
   * Results expire: unknown ones after 10 s, others when many new ones are added. A caller for whom
   * `get` returns null later calls this again.
   */
  ready(refs: readonly SchemaRef[], signal: AbortSignal): Promise<void>;
  /** Sentences for the body of `/readyz`. */
  readonly healthProblems: () => readonly string[];
}

/** How to reach a schema registry. Passed in, because this folder does not know the configuration. */
export interface RegistryConnection {
  /** Complete URLs, with or without a path; at least one. If one does not respond, the next is used. */
  readonly urls: readonly string[];
  /** Null: no authentication. */
  readonly authentication: RegistryAuthentication | null;
  /** Null: the public roots, and no client certificate. */
  readonly tls: TlsFiles | null;
}

type RegistryAuthentication =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | ({ readonly kind: "oauth" } & ClientCredentials);

/** How to reach a schema registry. Handed in by `cli`, so that this folder does not know the configuration. */

import type { TlsFiles } from "../http/tls.ts";
import type { ClientCredentials } from "../runtime/oauth-token.ts";

export interface RegistryConnection {
  /** Complete URLs, with or without a path; at least one. The next one is asked when one does not answer. */
  readonly urls: readonly string[];
  /** Null: none. */
  readonly login: RegistryLogin | null;
  /** Null: the public roots, and no certificate of ours. */
  readonly tls: TlsFiles | null;
}

export type RegistryLogin =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | ({ readonly kind: "oauth" } & ClientCredentials);

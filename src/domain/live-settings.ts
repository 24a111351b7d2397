/**
 * The part of the configuration that can change while the program runs
 * (docs/change-configuration.md#what-applies-without-a-restart): sources, destinations and audiences, the defaults
 * for their entries, the proxy, and TLS files.
 */

import type { AudienceOptions, ConfiguredAudience } from "./audience.ts";
import type { Destination, Source } from "./destination.ts";
import type { SourceId } from "./ids.ts";

/** How webhooks reach endpoints. */
export interface Egress {
  /** The private CA for endpoints' certificates as a PEM string, added to the public roots; null if there is none. */
  readonly ca: string | null;
  /** The URL of the forward proxy, which may contain a password; null if there is none. */
  readonly proxy: string | null;
  /** The private CA for the certificates of proxies, like `ca`. */
  readonly proxyCa: string | null;
}

export interface LiveSettings {
  readonly sources: readonly Source[];
  readonly defaultSource: SourceId | null;
  readonly destinations: readonly Destination[];
  readonly audiences: readonly ConfiguredAudience[];
  readonly audienceDefaults: AudienceOptions;
  readonly delivery: Egress;
  /** The certificate and key of the ingest stage as PEM strings; null if it does not use TLS. */
  readonly ingestTls: { readonly cert: string; readonly key: string } | null;
}

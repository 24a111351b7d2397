/**
 * The part of the configuration that can change while the program runs
 * (docs/change-configuration.md#what-applies-without-a-restart): sources, destinations and audiences, the defaults
 * for their entries, and TLS files.
 */

import type { AudienceOptions, ConfiguredAudience } from "./audience.ts";
import type { Destination, Source } from "./destination.ts";
import type { SourceId } from "./ids.ts";

export interface LiveSettings {
  readonly sources: readonly Source[];
  readonly defaultSource: SourceId | null;
  readonly destinations: readonly Destination[];
  readonly audiences: readonly ConfiguredAudience[];
  readonly audienceDefaults: AudienceOptions;
  /** The private CA for endpoints' certificates as a PEM string; null if there is none. */
  readonly deliveryCa: string | null;
  /** The certificate and key of the ingest stage as PEM strings; null if it does not use TLS. */
  readonly ingestTls: { readonly cert: string; readonly key: string } | null;
}

/**
 * The part of the configuration that changes while the program runs
 * (docs/change-configuration.md#what-applies-without-a-restart): its three lists, the defaults for what their entries do not set,
 * and TLS files.
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
  /** The private CA of endpoints as a PEM string; null if there is none. */
  readonly deliveryCa: string | null;
  /** The PEM strings of ingest; null if ingest does not use TLS. */
  readonly ingestTls: { readonly cert: string; readonly key: string } | null;
}

/**
 * The part of the configuration that changes while the program runs
 * (docs/change-configuration.md#what-applies-without-a-restart): its three lists, the settings that stand in for what
 * they leave out, and TLS files.
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
  /** PEM text of the private CA of endpoints; null: none. */
  readonly deliveryCa: string | null;
  /** PEM texts of ingest; null: it is reached without TLS. */
  readonly ingestTls: { readonly cert: string; readonly key: string } | null;
}

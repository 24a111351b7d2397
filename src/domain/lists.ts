/**
 * The part of the configuration that changes while the program runs (docs/operations.md#changes-while-running):
 * its three lists, and the settings that name their entries or stand in for them.
 */

import type { AudienceOptions, ConfiguredAudience } from "./audience.ts";
import type { Destination, Source } from "./destination.ts";
import type { SourceId } from "./ids.ts";

export interface Lists {
  readonly sources: readonly Source[];
  readonly defaultSource: SourceId | null;
  readonly destinations: readonly Destination[];
  readonly audiences: readonly ConfiguredAudience[];
  readonly audienceDefaults: AudienceOptions;
}

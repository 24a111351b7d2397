/** How audiences become calls, as the configuration states it, already checked. */

import type { SourceId } from "./ids.ts";
import type { JsonObject } from "./json.ts";

/**
 * Null: not stated; see `settingsOf` in `src/audience/audience-settings.ts` for what then counts.
 */
export interface AudienceOptions {
  /** The source of the calls. */
  readonly source: SourceId | null;
  /** Goes into the calls as it is. */
  readonly integrations: JsonObject | null;
  /** Becomes `context.consent.categoryPreferences` of the calls; absent: as null. */
  readonly consent?: Readonly<Record<string, boolean>> | null;
  /** A sync that removes more than this share of the members needs approval; 0 to 1. */
  readonly approvalShare: number | null;
  /** A sync that removes at most this many members never needs approval for its share. */
  readonly approvalMinimum: number | null;
}

export interface ConfiguredAudience extends AudienceOptions {
  readonly id: string;
  /** The trait, in place of the name's snake_case form. */
  readonly key: string | null;
}

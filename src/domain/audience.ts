/** The validated settings for turning audiences into calls. */

import type { SourceId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import { shellWord } from "./shell-word.ts";

/** An option is null if it is not set; `settingsOf` in `src/router/audience/audience-settings.ts` then supplies the default. */
export interface AudienceOptions {
  readonly source: SourceId | null;
  /** Copied into the calls unchanged. */
  readonly integrations: JsonObject | null;
  /** Becomes `context.consent.categoryPreferences` in the calls. If absent, the effect is the same as null. */
  readonly consent?: Readonly<Record<string, boolean>> | null;
  /** A sync that removes more than this share of the members needs approval; 0 to 1. */
  readonly approvalShare: number | null;
  /** A sync that removes at most this many members never needs approval. */
  readonly approvalMinimum: number | null;
}

export interface ConfiguredAudience extends AudienceOptions {
  readonly id: string;
  /** The trait to use instead of the name in snake_case. */
  readonly key: string | null;
}

/** The status of an audience, as the process that owns the audience reports it. */
export interface AudienceStatus {
  readonly id: string;
  /** The complete sync that awaits approval; null if there is none. */
  readonly awaitingApproval: {
    readonly syncId: string;
    readonly removals: number;
    readonly sinceMs: number;
  } | null;
}

/** An audience's ID comes from sync records, so it may contain anything. */
export function approveCommand(id: string): string {
  return `switchyard audience approve ${shellWord(id)}`;
}

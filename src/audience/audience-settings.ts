/**
 * The settings that count for an audience: the first line that says something.
 *
 *   setting        its entry in `audiences`   `audienceDefaults`   else
 *   source         yes                        yes                  `defaultSource`, else none
 *   key            yes                        -                    none: the name's snake_case form
 *   integrations   yes                        yes                  none
 *   approvalShare      yes                        yes                  none: none needs approval
 *   approvalMinimum    yes                        yes                  100
 *
 * Computed traits belong to no audience: the defaults count for them.
 */

import type { AudienceOptions, ConfiguredAudience } from "../domain/audience.ts";
import type { SourceId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";

const APPROVAL_MINIMUM = 100;

export interface AudienceSettings {
  /** Null: syncs are refused, since their calls would come from nowhere. */
  readonly source: SourceId | null;
  readonly key: string | null;
  readonly integrations: JsonObject | null;
  readonly approvalShare: number | null;
  readonly approvalMinimum: number;
}

export interface AudienceConfiguration {
  readonly audiences: readonly ConfiguredAudience[];
  readonly audienceDefaults: AudienceOptions;
  readonly defaultSource: SourceId | null;
}

/** Made once; the answer takes an audience's id, or null for computed traits. */
export function settingsOf(
  configuration: AudienceConfiguration,
): (audienceId: string | null) => AudienceSettings {
  const { audiences, audienceDefaults: defaults, defaultSource } = configuration;
  const byId = new Map(audiences.map((audience) => [audience.id, audience]));
  return (audienceId) => {
    const own = audienceId === null ? undefined : byId.get(audienceId);
    return {
      source: own?.source ?? defaults.source ?? defaultSource,
      key: own?.key ?? null,
      integrations: own?.integrations ?? defaults.integrations,
      approvalShare: own?.approvalShare ?? defaults.approvalShare,
      approvalMinimum: own?.approvalMinimum ?? defaults.approvalMinimum ?? APPROVAL_MINIMUM,
    };
  };
}

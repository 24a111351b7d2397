/**
 * Finds the settings of an audience. A setting is taken from the first column that sets it; `yes` means that it can be
 * set there.
 *
 *   setting           entry in `audiences`   `audienceDefaults`   otherwise
 *   source            yes                    yes                  `defaultSource`, or none
 *   key               yes                    -                    the name in snake_case
 *   integrations      yes                    yes                  none
 *   consent           yes                    yes                  none
 *   approvalShare     yes                    yes                  none, so no sync needs approval
 *   approvalMinimum   yes                    yes                  100
 *
 * Computed traits do not belong to an audience, so the defaults apply to them.
 */

import type { SourceId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { LiveSettings } from "../../domain/live-settings.ts";

const APPROVAL_MINIMUM = 100;

export interface AudienceSettings {
  /** If null, syncs are rejected, because their calls would have no source. */
  readonly source: SourceId | null;
  readonly key: string | null;
  readonly integrations: JsonObject | null;
  readonly consent: Readonly<Record<string, boolean>> | null;
  readonly approvalShare: number | null;
  readonly approvalMinimum: number;
}

export type AudienceConfiguration = Pick<
  LiveSettings,
  "audiences" | "audienceDefaults" | "defaultSource"
>;

/** Returns a function that finds the settings for an audience's ID, or for computed traits if the ID is null. */
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
      consent: own?.consent ?? defaults.consent ?? null,
      approvalShare: own?.approvalShare ?? defaults.approvalShare,
      approvalMinimum: own?.approvalMinimum ?? defaults.approvalMinimum ?? APPROVAL_MINIMUM,
    };
  };
}

/** Settings that change while stages run. Lists that a test does not set are empty. */

import type { Egress, LiveSettings } from "../../../src/domain/live-settings.ts";

/** Webhooks are sent directly, to endpoints with certificates of public CAs. */
export const NO_EGRESS: Egress = { ca: null, proxy: null, proxyCa: null };

export function listsOf(given: Partial<LiveSettings>): LiveSettings {
  const audienceDefaults = {
    source: null,
    integrations: null,
    approvalShare: null,
    approvalMinimum: null,
  };
  const none = { sources: [], defaultSource: null, destinations: [], audiences: [] };
  return { ...none, audienceDefaults, delivery: NO_EGRESS, ingestTls: null, ...given };
}

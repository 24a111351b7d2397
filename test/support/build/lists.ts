/** Settings that change while stages run. Lists that a test does not set are empty. */

import type { LiveSettings } from "../../../src/domain/live-settings.ts";

export function listsOf(given: Partial<LiveSettings>): LiveSettings {
  const audienceDefaults = {
    source: null,
    integrations: null,
    approvalShare: null,
    approvalMinimum: null,
  };
  const none = { sources: [], defaultSource: null, destinations: [], audiences: [] };
  return { ...none, audienceDefaults, deliveryCa: null, ingestTls: null, ...given };
}

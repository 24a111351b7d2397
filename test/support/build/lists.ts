/** The lists of a configuration; those that a test does not care about are empty. */

import type { Lists } from "../../../src/domain/lists.ts";

export function listsOf(given: Partial<Lists>): Lists {
  const audienceDefaults = { source: null, integrations: null, heldShare: null, heldMinimum: null };
  const none = { sources: [], defaultSource: null, destinations: [], audiences: [] };
  return { ...none, audienceDefaults, ...given };
}

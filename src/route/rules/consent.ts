/**
 * Decides whether a call has the consent that a destination requires (docs/rules.md#consent). The first row that applies decides.
 *
 *   context.consent.categoryPreferences       the call grants
 *   an object                                 the categories whose value is the literal `true`
 *   any other value except null; also if      nothing
 *     context.consent is not an object
 *   absent or null, and
 *     context.consentManagement has a list    all categories that are not in the list; with `resolutionStrategy: or`,
 *     deniedConsentIds                        one of the destination's categories is enough
 *   absent or null, without that list         everything, unless consent is required
 *
 * Only own properties count, and categories are case-sensitive.
 */

import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import type { ConsentRule } from "../../domain/rules.ts";
import { own } from "./path.ts";

export function hasConsent(
  { categories, match, required }: ConsentRule,
  context: JsonObject | null,
): boolean {
  const consent = context === null ? undefined : own(context, "consent");
  const preferences = isJsonObject(consent) ? own(consent, "categoryPreferences") : consent;
  if (preferences !== undefined && preferences !== null) {
    if (!isJsonObject(preferences)) return false;
    return allOrAny(categories, match, (category) => own(preferences, category) === true);
  }
  const management = context === null ? undefined : own(context, "consentManagement");
  const denied = isJsonObject(management) ? own(management, "deniedConsentIds") : undefined;
  if (!isJsonObject(management) || !Array.isArray(denied)) return required !== true;
  const strategy = own(management, "resolutionStrategy") === "or" ? "any" : "all";
  return allOrAny(categories, strategy, (category) => !denied.includes(category));
}

function allOrAny(
  categories: readonly string[],
  match: ConsentRule["match"],
  isGranted: (category: string) => boolean,
): boolean {
  return match === "all" ? categories.every(isGranted) : categories.some(isGranted);
}

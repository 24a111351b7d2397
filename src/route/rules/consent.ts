/**
 * Whether a call has the consent that a destination asks for (docs/rules.md#consent). The first row that fits decides.
 *
 *   context.consent.categoryPreferences       grants
 *   an object                                 the categories whose value is the literal `true`
 *   anything else but null, also in place     nothing
 *     of context.consent itself
 *   absent or null, and
 *     context.consentManagement has a list    all categories that the list does not have; the call's
 *     deniedConsentIds                        `resolutionStrategy: or` asks for one of the destination's alone
 *   absent or null, and it has none           there is no consent object: all, unless consent is required
 *
 * Only own properties count, and categories are compared as they are written.
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
